#!/bin/sh
# Helm on Tacker's host, where its v2 API runs it for CNFs.
set -eu
dpkg --install /provision/apt/helm_*.deb >/dev/null
rm -r /provision/apt
