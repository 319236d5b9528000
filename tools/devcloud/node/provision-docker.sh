#!/bin/sh
# A node image on which Docker is preinstalled.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends docker.io docker-cli >/dev/null
usermod --append --groups docker ubuntu
apt-get clean
rm -rf /var/lib/apt/lists/*
