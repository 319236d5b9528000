#!/bin/sh
# Installs Prometheus and Alertmanager, which the cloud's own units start.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends curl prometheus prometheus-alertmanager >/dev/null
systemctl disable --quiet prometheus prometheus-alertmanager
apt-get clean
rm -rf /var/lib/apt/lists/*
