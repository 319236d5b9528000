#!/bin/sh
# Adds to a mirror what conformance.sh has made.
set -eu
mv /provision/conformance /srv/mirror/conformance
