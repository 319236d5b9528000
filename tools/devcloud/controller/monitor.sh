#!/bin/sh
# Runs Prometheus or Alertmanager on the files that tools.monitoring writes:
# monitor.sh CONFIGURATION URL COMMAND...
# The command starts when its configuration is there. When the configuration or a rule changes, the
# program is asked at the URL to read its files again; targets Prometheus watches itself.
set -eu
configuration=$1 url=$2
shift 2
cd "$(dirname "$configuration")"
[ -e "$configuration" ] || echo "waiting for $configuration"
until [ -e "$configuration" ]; do sleep 1; done

files() { cksum ./*.yml rules/*.yml 2>/dev/null || true; }

before=$(files)
while sleep 1; do
    now=$(files)
    [ "$now" = "$before" ] && continue
    before=$now
    # It may be starting, having read the file as it was.
    curl --silent --show-error --fail-with-body --retry 30 --retry-delay 1 --retry-connrefused \
        --request POST "$url" || true
done &
exec "$@"
