#!/bin/sh
# No service is started or restarted: it has no settings yet, or `tributary migrate` comes first.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
fi
