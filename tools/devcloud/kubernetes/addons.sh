#!/bin/sh
# Adds the images of the add-ons of the scenarios to the images of each series: programs
# that build-modules.sh has left in /opt/series.
set -eu
apt-get update -qq
apt-get install -y -qq --no-install-recommends python3 >/dev/null
for images in /srv/mirror/[0-9]*/images; do
    PYTHONPATH=/provision python3 /provision/make_addon_images.py /opt/series "$images"
    (cd "$images" && sha256sum -- *.tar >SHA256SUMS)
done
rm -rf /opt/series /var/lib/apt/lists/*
apt-get clean
