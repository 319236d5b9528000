#!/bin/sh
# Fail if HAProxy does not accept the configuration on standard input.
set -e
candidate=$(mktemp)
trap 'rm -f "$candidate"' EXIT
cat >"$candidate"
haproxy -c -q -f "$candidate"
