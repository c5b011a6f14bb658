#!/bin/sh
# Services end when the package goes, not when a newer one takes its place (Debian says "remove", Red Hat 0).
set -e
if [ -d /run/systemd/system ] && { [ "$1" = remove ] || [ "$1" = 0 ]; }; then
  systemctl disable --now tributary-edge tributary-admin tributary-processor tributary-connect || true
fi
