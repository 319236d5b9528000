#!/bin/sh
# Makes what machines install Kubernetes from, out of the programs of build.sh:
#   /srv/mirror/apt     a signed repository laid out as the Kubernetes project's own
#   /srv/mirror/images  archives of `docker save`, their digests in SHA256SUMS
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends apt-utils busybox-static conntrack \
    etcd-client etcd-server gnupg iptables python3 >/dev/null

version=$(cat /opt/kubernetes/version)
architecture=$(dpkg --print-architecture)
programs=/opt/kubernetes/bin

# A package: its name, its program, what it depends on, and its description.
# Other files are put below $root before.
root=/build/package
package() {
    mkdir -p "$root/DEBIAN"
    install -D -m 0755 "$programs/$2" "$root/usr/bin/$2"
    cat >"$root/DEBIAN/control" <<CONTROL
Package: $1
Version: $version-1
Architecture: $architecture
Maintainer: tools.devcloud <root@localhost>
Depends: $3
Description: $4
CONTROL
    dpkg-deb --root-owner-group -Zgzip -z1 --build "$root" /srv/mirror/apt >/dev/null
    rm -r "$root"
}

echo "devcloud: packages of Kubernetes $version"
mkdir -p /srv/mirror/apt /srv/mirror/images /build
package cri-tools crictl "libc6" "What kubeadm needs of crictl"
package kubectl kubectl "libc6" "Command line of Kubernetes"
install -D -m 0644 /provision/kubelet.service "$root/lib/systemd/system/kubelet.service"
package kubelet kubelet "conntrack, containernetworking-plugins, ebtables, ethtool, iproute2, \
iptables, mount, socat, util-linux" "Node agent of Kubernetes"
install -D -m 0644 /provision/10-kubeadm.conf \
    "$root/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"
package kubeadm kubeadm "cri-tools, kubectl (>= $version), kubelet (>= $version)" "Cluster set-up of Kubernetes"

cd /srv/mirror/apt
apt-ftparchive packages . >Packages
apt-ftparchive -o APT::FTPArchive::Release::Label=kubernetes release . >/build/Release
# The key signs this once: its private half is gone with /build.
export GNUPGHOME=/build/gnupg
mkdir -m 0700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key devcloud-kubernetes ed25519 sign never
gpg --batch --quiet --clearsign --output InRelease /build/Release
gpg --batch --quiet --armor --export >Release.key
gpgconf --kill all

echo "devcloud: container images"
PYTHONPATH=/provision python3 /provision/make_images.py "$programs" "v$version" /srv/mirror/images
cd /srv/mirror/images
sha256sum -- *.tar >SHA256SUMS

chmod 0755 /devcloud-mirror
rm -rf /build /opt/kubernetes
apt-get clean
rm -rf /var/lib/apt/lists/*
