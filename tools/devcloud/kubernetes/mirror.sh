#!/bin/sh
# Makes what machines install Kubernetes from, out of the programs of build-modules.sh or
# build-debian.sh, for each series that they left in /opt/series:
#   /srv/mirror/SERIES/apt     a signed repository laid out as the Kubernetes project's own,
#                              with containerd besides
#   /srv/mirror/SERIES/images  archives of `docker save`, their digests in SHA256SUMS
# and /srv/mirror/kube-bench.tar.gz, laid out as the archive of kube-bench's releases.
set -eu
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends apt-utils busybox-static conntrack gnupg \
    iptables nftables python3 >/dev/null
architecture=$(dpkg --print-architecture)
cni_plugins="bandwidth bridge firewall host-local loopback portmap ptp tuning"

# One key signs all series, also those of later layers, as in the Kubernetes project's repositories.
mkdir /build
export GNUPGHOME=/root/gnupg
if [ ! -e "$GNUPGHOME" ]; then
    mkdir -m 0700 "$GNUPGHOME"
    gpg --batch --quiet --passphrase '' --quick-generate-key devcloud-kubernetes ed25519 sign never
fi

# A package of the files below $root: its name, version, description and what it depends on.
root=/build/package
package() {
    mkdir -p "$root/DEBIAN"
    cat >"$root/DEBIAN/control" <<CONTROL
Package: $1
Version: $2-1
Architecture: $architecture
Maintainer: tools.devcloud <root@localhost>
Description: $3
CONTROL
    if [ -n "${4-}" ]; then
        echo "Depends: $4" >>"$root/DEBIAN/control"
    fi
    dpkg-deb --root-owner-group -Zgzip -z1 --build "$root" "$apt" >/dev/null
    rm -r "$root"
}
# Programs of the series into a folder of the package.
programs() {
    folder=$root$1
    shift
    for program; do
        install -D -m 0755 "$bin/$program" "$folder/$program"
    done
}
unit() {
    install -D -m 0644 "$1" "$root/lib/systemd/system/$2"
}

newest=$(printf '%s\n' /srv/mirror/[0-9]* | sort -V | tail -1)
# What is of no series is built with the newest one only.
from_newest() {
    for pattern; do
        # shellcheck disable=SC2086  # the files that match are what is wanted
        cp "$newest"/$pattern "/srv/mirror/${series##*/}/${pattern%/*}/"
    done
}

for series in /opt/series/[0-9]*; do
    version=$(cat "$series/version")
    echo "devcloud: packages and images of Kubernetes $version"
    bin=$series/bin
    apt=/srv/mirror/${series##*/}/apt
    images=/srv/mirror/${series##*/}/images
    mkdir -p "$apt" "$images"

    programs /usr/bin kubectl
    package kubectl "$version" "Command line of Kubernetes"
    programs /usr/bin kubelet
    unit /provision/kubelet.service kubelet.service
    package kubelet "$version" "Node agent of Kubernetes" \
        "conntrack, ethtool, iproute2, iptables, kubernetes-cni, mount, socat, util-linux"
    programs /usr/bin kubeadm
    unit /provision/10-kubeadm.conf kubelet.service.d/10-kubeadm.conf
    # Of any version, as in the project's own packages: kubeadm is upgraded before the others.
    package kubeadm "$version" "Cluster set-up of Kubernetes" "cri-tools, kubectl, kubelet"
    if [ -e "$bin/crictl" ]; then
        programs /usr/bin crictl
        package cri-tools "$version" "Command line of container runtimes"
    else
        from_newest 'apt/cri-tools_*'
    fi
    if [ -e "$bin/containerd" ]; then
        cp /opt/series/flannel-cni-plugin/bin/flannel "$bin/"
        cp /opt/series/kube-network-policies/bin/cmd "$bin/netpol"
        programs /usr/bin containerd containerd-shim-runc-v2 ctr
        unit "$series/containerd.service" containerd.service
        containerd=$("$bin/containerd" --version | cut -d' ' -f3)
        package containerd "${containerd#v}" "Container runtime" runc
        # shellcheck disable=SC2086  # words are what is wanted
        programs /opt/cni/bin $cni_plugins
        cni=$("$bin/bridge" 2>&1 | sed -n '1s/.*plugin v//p')
        package kubernetes-cni "$cni" "Plugins of container networks" iptables
        cp /opt/series/helm/bin/helm "$bin/"
        programs /usr/bin helm
        helm=$("$bin/helm" version --template '{{.Version}}')
        package helm "${helm#v}" "Package manager of Kubernetes"
    else
        from_newest 'apt/kubernetes-cni_*' 'apt/helm_*' 'images/flannel*' \
            'images/kube-network-policies*'
        # Older kubelets speak to containerd 1 only, which is Debian's.
        [ "${series##*.}" -lt 26 ] || from_newest 'apt/containerd_*'
    fi

    cd "$apt"
    apt-ftparchive packages . >Packages
    apt-ftparchive -o APT::FTPArchive::Release::Label=kubernetes release . >/build/Release
    gpg --batch --quiet --clearsign --output InRelease /build/Release
    gpg --batch --quiet --armor --export >Release.key

    PYTHONPATH=/provision python3 /provision/make_images.py "$bin" "v$version" "$images"
    cd "$images"
    sha256sum -- *.tar >SHA256SUMS
done
gpgconf --kill all
if [ -e /opt/series/kube-bench ]; then
    tar --create --gzip --mode u+w --file /srv/mirror/kube-bench.tar.gz \
        --directory /opt/series/kube-bench cfg --directory bin kube-bench
fi

chmod 0755 /devcloud-mirror
rm -rf /build /opt/series
apt-get clean
rm -rf /var/lib/apt/lists/*
