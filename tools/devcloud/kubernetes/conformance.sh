#!/bin/sh
# Makes what the scenarios of Kubernetes' conformance tests run, of the programs that
# build-modules.sh has left in /opt/series. Leaves in /srv/conformance the programs ginkgo,
# e2e.test and kubectl, and images.tar, the images that the tests name.
set -eu
export DEBIAN_FRONTEND=noninteractive
programs=/opt/series/conformance/bin
target=/srv/conformance
mkdir -p "$target"
apt-get update -qq
echo "devcloud: making the images of the conformance tests"
# What tests run in the images. The root file system of most images is that of this container,
# without the files that a container engine gives to each container.
apt-get install -y -qq --no-install-recommends curl dnsutils iperf netcat-openbsd nginx-light \
    socat util-linux wget >/dev/null
tar --create --file /opt/root.tar --directory / --one-file-system \
    --exclude=./etc/hostname --exclude=./etc/hosts --exclude=./etc/resolv.conf --exclude=./opt \
    --exclude=./provision --exclude=./provision-host --exclude=./srv --exclude=./usr/share/doc \
    --exclude=./usr/share/locale --exclude=./usr/share/man --exclude=./var/cache \
    --exclude=./var/lib/apt .
apt-get install -y -qq --no-install-recommends bash-static busybox-static python3 >/dev/null
PYTHONPATH=/provision python3 /provision/make_conformance_images.py "$programs" /opt/root.tar \
    "$target/images.tar"
mv "$programs/ginkgo" "$programs/e2e.test" "$programs/kubectl" "$target/"
rm -rf /opt/series /opt/root.tar /var/lib/apt/lists/*
apt-get clean
