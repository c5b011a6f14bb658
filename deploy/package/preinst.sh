#!/bin/sh
# A user for each service: none reads another's memory or files. The group may read certificates in /etc/tributary.
set -e
getent group tributary >/dev/null || groupadd --system tributary
for service in edge admin processor connect; do
  getent passwd "tributary-$service" >/dev/null ||
    useradd --system --gid tributary --home-dir /var/lib/tributary --no-create-home --shell /usr/sbin/nologin "tributary-$service"
done
