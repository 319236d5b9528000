#!/bin/bash
# Gives ONE machine (Debian or Ubuntu) its container runtime and the packages of
# Kubernetes. What spans machines is the management driver's: kubeadm, the load
# balancer, the pod network.
#
# Contract: tacker-mgmt-drivers
# Run as root, any number of times; exit status 0 means that the machine is ready for
# kubeadm. There are no arguments; settings come as environment variables:
#   NODE_ROLE            master or worker
#   CONTAINER_RUNTIME    containerd or docker
#   KUBERNETES_VERSION   a series (1.33) or a release (1.33.2)
#   KUBERNETES_PACKAGES  which of kubeadm, kubectl and kubelet (all); where a machine is
#                        upgraded kubeadm comes alone, and nothing else may change
#   PACKAGE_REPOSITORY   URL of a flat apt repository, ending in a slash
#   PACKAGE_KEY          file with the ASCII-armored key that signs it; empty: the
#                        repository's own Release.key, which is fetched by https
#   IMAGE_REPOSITORY     where Kubernetes' images lie; empty: kubeadm's default
#   EXTRA_PACKAGES       what the driver needs besides, separated by spaces: to be
#                        installed in the same transaction
# A proxy, where there is one, is configured for apt and the runtimes already, and a transaction of
# dpkg that was broken off is ended.
set -euo pipefail
: "${NODE_ROLE:?}" "${CONTAINER_RUNTIME:?}" "${KUBERNETES_VERSION:?}" "${PACKAGE_REPOSITORY:?}"

readonly KEYRING=/etc/apt/keyrings/kubernetes.asc
readonly SOURCE=/etc/apt/sources.list.d/kubernetes.list
read -ra PACKAGES <<<"${KUBERNETES_PACKAGES:-kubeadm kubectl kubelet}"
read -ra EXTRA <<<"${EXTRA_PACKAGES:-}"
readonly PACKAGES EXTRA
# What kubeadm's preflight, kube-proxy and kubelet run; not every package depends on it.
readonly PROGRAMS=(conntrack ethtool socat)
export DEBIAN_FRONTEND=noninteractive

fail() {
    echo "$*" >&2
    exit 1
}

apt() {
    # Configuration that the image brought for packages to come stays.
    apt-get -q -o Acquire::Retries=1 -o DPkg::Lock::Timeout=300 \
        -o DPkg::Options::=--force-confold "$@"
}

kernel_settings() {
    printf 'overlay\nbr_netfilter\n' >/etc/modules-load.d/kubernetes.conf
    # Kernels that have them built in have no modules to load.
    modprobe overlay 2>/dev/null || true
    modprobe br_netfilter 2>/dev/null || true
    [ -e /proc/sys/net/bridge/bridge-nf-call-iptables ] ||
        fail "the kernel has no br_netfilter, which kube-proxy needs"
    cat >/etc/sysctl.d/90-kubernetes.conf <<'CONF'
net.bridge.bridge-nf-call-iptables = 1
net.bridge.bridge-nf-call-ip6tables = 1
net.ipv4.ip_forward = 1
CONF
    sysctl -q -p /etc/sysctl.d/90-kubernetes.conf
    # kubelet refuses to run beside swap.
    swapoff -a
    sed -i -E 's/^([^#]\S*\s+\S+\s+swap\s)/#\1/' /etc/fstab
}

package_source() {
    mkdir -p "${KEYRING%/*}"
    if [ -n "${PACKAGE_KEY:-}" ]; then
        install -m 0644 "$PACKAGE_KEY" "$KEYRING"
    elif [ ! -s "$KEYRING" ] || ! grep -qsF " $PACKAGE_REPOSITORY /" "$SOURCE"; then
        # apt's own downloader uses apt's proxy. A key has some kilobytes, and never a MiB.
        (ulimit -f 1024 && exec timeout 120 /usr/lib/apt/apt-helper download-file \
            "${PACKAGE_REPOSITORY}Release.key" "$KEYRING.new") ||
            fail "cannot fetch the key of $PACKAGE_REPOSITORY"
        mv "$KEYRING.new" "$KEYRING"
    fi
    echo "deb [signed-by=$KEYRING] $PACKAGE_REPOSITORY /" >"$SOURCE"
    apt update -o APT::Update::Error-Mode=any
}

# Of versions of packages, a line each, those that belong to the series or release.
wanted_versions() {
    grep -E "^${KUBERNETES_VERSION//./\\.}(\.|-|\$)"
}

# Whether the image brought all that the machine will need.
has_all() {
    local package
    has_runtime || return 1
    for package in "${PACKAGES[@]}"; do
        installed_version "$package" | wanted_versions >/dev/null || return 1
    done
    for package in "${PROGRAMS[@]}" "${EXTRA[@]}"; do
        installed_version "$package" >/dev/null || return 1
    done
}

installed_version() {
    dpkg-query --show --showformat '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null |
        sed -n 's/^installed //p' | grep .
}

# From whatever source: one that the image brought stays.
has_runtime() {
    case "$CONTAINER_RUNTIME" in
    containerd) command -v containerd ;;
    docker) command -v dockerd && command -v docker ;;
    esac >/dev/null
}

# The newest version of kubeadm in the repository that is wanted.
package_version() {
    local found
    found=$(apt-cache madison kubeadm | awk '{ print $3 }' | wanted_versions | head -n 1) ||
        fail "$PACKAGE_REPOSITORY has no kubeadm $KUBERNETES_VERSION; it has:" \
            "$(apt-cache madison kubeadm | awk '{ print $3 }' | xargs)"
    echo "$found"
}

# All that the machine will need, in one transaction of apt.
packages() {
    local version wanted
    version=$(package_version)
    wanted=("${PROGRAMS[@]}" "${EXTRA[@]}")
    for package in "${PACKAGES[@]}"; do
        wanted+=("$package=$version")
    done
    if ! has_runtime; then
        wanted+=("${CONTAINER_RUNTIME/%docker/docker.io}")
        # Debian 13 has Docker's command line in a package of its own.
        if [ "$CONTAINER_RUNTIME" = docker ] && apt-cache show docker-cli &>/dev/null; then
            wanted+=(docker-cli)
        fi
    fi
    apt install -y --no-install-recommends --allow-change-held-packages "${wanted[@]}"
}

configure_containerd() {
    local config=/etc/containerd/config.toml wanted sandbox
    sandbox=$(kubeadm config images list ${IMAGE_REPOSITORY:+--image-repository "$IMAGE_REPOSITORY"} \
        --kubernetes-version "$(kubeadm version -o short)" | grep '/pause:')
    wanted=$(containerd config default | sed -E \
        -e 's|^( *SystemdCgroup = ).*|\1true|' \
        -e "s|^( *sandbox(_image)? = ).*|\1\"$sandbox\"|" \
        -e '/registry\]$/,/^ *\[/ s|^( *config_path = ).*|\1"/etc/containerd/certs.d"|')
    grep -q 'config_path = "/etc/containerd/certs.d"' <<<"$wanted" ||
        fail "$(containerd --version) knows no folder of registries; it must be 1.5 or later"
    if [ ! -e "$config" ] || [ "$wanted" != "$(cat "$config")" ]; then
        mkdir -p "${config%/*}"
        printf '%s\n' "$wanted" >"$config"
        systemctl restart containerd
    fi
    systemctl enable --quiet --now containerd
    # It starts without its CRI when the kernel is short of something just then.
    cri_works || systemctl restart containerd
    cri_works || fail "the CRI plugin of containerd does not work:" \
        "$(journalctl --unit containerd --no-pager | grep 'failed to load plugin.*cri' | tail -n 1)"
}

cri_works() {
    ctr plugins ls | awk '$2 == "cri" && $NF == "ok" { found = 1 } END { exit !found }'
}

configure_docker() {
    local config=/etc/docker/daemon.json
    # Merged: what the image brought stays.
    python3 - "$config" <<'PYTHON'
import json, pathlib, sys

path = pathlib.Path(sys.argv[1])
before = json.loads(path.read_text() or "{}") if path.exists() else {}
driver = "native.cgroupdriver"
others = [word for word in before.get("exec-opts", []) if not word.startswith(driver)]
after = {**before, "exec-opts": [*others, f"{driver}=systemd"]}
if after != before:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(after, indent=2) + "\n")
PYTHON
    if ! docker info --format '{{.CgroupDriver}}' 2>/dev/null | grep -qx systemd; then
        systemctl restart docker
    fi
    systemctl enable --quiet --now docker
}

[[ "$CONTAINER_RUNTIME" =~ ^(containerd|docker)$ ]] ||
    fail "CONTAINER_RUNTIME must be containerd or docker, not $CONTAINER_RUNTIME"
kernel_settings
# A package source is asked for nothing that the image has.
if ! has_all; then
    package_source
    packages
fi
apt-mark hold "${PACKAGES[@]}" >/dev/null
[[ " ${PACKAGES[*]} " = *" kubelet "* ]] || exit 0
# Debian's plugins lie where neither kubelet nor the runtimes look for them.
if [ -d /usr/lib/cni ]; then
    mkdir -p /opt/cni/bin
    ln -sf /usr/lib/cni/* /opt/cni/bin/
fi
systemctl enable --quiet kubelet
"configure_$CONTAINER_RUNTIME"
