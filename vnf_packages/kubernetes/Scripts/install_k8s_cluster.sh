#!/bin/bash
# Gives ONE machine (Debian or Ubuntu) its container runtime and the packages of Kubernetes.
# What spans machines is the driver's: kubeadm, the load balancer, the pod network.
#
# Contract: tacker-mgmt-drivers
# Run as root, any number of times; exit status 0 means that the machine is ready for
# kubeadm. There are no arguments; settings come as environment variables:
#   NODE_ROLE            master or worker
#   CONTAINER_RUNTIME    containerd or docker
#   KUBERNETES_VERSION   a series (1.33) or a release (1.33.2)
#   KUBERNETES_PACKAGES  which of kubeadm, kubectl and kubelet (all). For an upgrade kubeadm
#                        alone: of a series the newest release; nothing else may change
#   PACKAGE_REPOSITORY   URL of a flat apt repository, ending in a slash
#   PACKAGE_KEY          file with its ASCII-armored key; empty: its own Release.key
#   IMAGE_REPOSITORY     where Kubernetes' images lie; empty: kubeadm's default
#   EXTRA_PACKAGES       what the driver needs besides, separated by spaces
#   IS_NODE              no: the machine is no node yet, though its image may be made from one
# The driver has configured a proxy, if any. If dpkg says that it was interrupted, the driver ends
# its transaction and runs this script again.
set -euo pipefail
: "${NODE_ROLE:?}" "${CONTAINER_RUNTIME:?}" "${KUBERNETES_VERSION:?}" "${PACKAGE_REPOSITORY:?}"

readonly KEYRING=/etc/apt/keyrings/kubernetes.asc
readonly SOURCE=/etc/apt/sources.list.d/kubernetes.list
read -ra PACKAGES <<<"${KUBERNETES_PACKAGES:-kubeadm kubectl kubelet}"
read -ra EXTRA <<<"${EXTRA_PACKAGES:-}"
# What kubeadm's preflight, kube-proxy and kubelet run; not every package depends on it.
readonly PACKAGES NEEDED=(conntrack ethtool socat "${EXTRA[@]}")
export LC_ALL=C DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 NEEDRESTART_MODE=l

fail() { echo "$*" >&2 && exit 1; }
is_node() { [ "${IS_NODE-}" != no ] && [ -e /etc/kubernetes/kubelet.conf ]; }

apt() {
    # Configuration that the image brought for packages to come stays.
    apt-get -q -o Acquire::Retries=1 -o DPkg::Lock::Timeout=300 \
        -o DPkg::Options::=--force-confdef -o DPkg::Options::=--force-confold "$@"
}

kernel_settings() {
    # Behind all files that the image brought, one of which may say otherwise.
    local limit name least found conf=/etc/sysctl.d/zz-kubernetes.conf
    printf '%s\n' overlay br_netfilter nf_conntrack >/etc/modules-load.d/kubernetes.conf
    # Kernels that have them built in have no modules to load.
    modprobe --all overlay br_netfilter nf_conntrack 2>/dev/null || true
    [ -e /proc/sys/net/bridge/bridge-nf-call-iptables ] ||
        fail "the kernel has no br_netfilter, which kube-proxy needs"
    printf '%s = 1\n' net.bridge.bridge-nf-call-ip{,6}tables net.ipv4.ip_forward >"$conf"
    sysctl -q -p "$conf"
    # Each container's shim takes an instance, and a node may have 110 pods. Higher limits stay.
    for limit in instances=8192 watches=524288; do
        name=fs.inotify.max_user_${limit%=*} least=${limit#*=} found=$(sysctl -n "$name")
        echo "$name = $((found > least ? found : least))" >>"$conf"
        sysctl -q "$name=$((found > least ? found : least))" || true # a container may not
    done
    # kubelet refuses to run beside swap, which units may bring that no line of fstab names.
    swapoff -a; systemctl mask --quiet swap.target
    sed -i -E 's/^\s*[^#[:space:]]\S*\s+\S+\s+swap(\s|$)/#&/' /etc/fstab
}

package_source() {
    local file
    mkdir -p "${KEYRING%/*}"
    if [ -n "${PACKAGE_KEY:-}" ]; then
        install -m 0644 "$PACKAGE_KEY" "$KEYRING"
    else
        # Each time: its owner may have extended it. By apt's downloader, which uses apt's proxy. A
        # key has some kilobytes, and never a MiB.
        (ulimit -f 1024 && exec timeout 120 /usr/lib/apt/apt-helper download-file \
            "${PACKAGE_REPOSITORY}Release.key" "$KEYRING.new") ||
            fail "cannot fetch the key of $PACKAGE_REPOSITORY"
        mv "$KEYRING.new" "$KEYRING"
    fi
    # With two entries of one URL and different keys apt refuses all sources: the image's line, or
    # stanza in *.sources, goes.
    for file in "${SOURCE%.d/*}" "${SOURCE%/*}"/*.{list,sources}; do
        grep -qsF "${PACKAGE_REPOSITORY%/}" "$file" || continue
        awk -v url="${PACKAGE_REPOSITORY%/}" -v RS="$([[ $file = *.sources ]] || printf '\\n')" \
            '{ for (i = 1; i <= NF; i++) if ($i == url || $i == url "/") next; print $0 "\n" }' \
            "$file" >"$file.new"
        mv "$file.new" "$file"
    done
    echo "deb [signed-by=$KEYRING] $PACKAGE_REPOSITORY /" >"$SOURCE"
    apt update -o APT::Update::Error-Mode=any
}

# Of versions of packages, a line each, those that belong to the series or release.
wanted_versions() {
    grep -E "^${KUBERNETES_VERSION//./\\.}(\.|-|\$)"
}

# Whether the machine has all that it will need. For an upgrade to a series the repository is
# asked, which may have a newer release.
has_all() {
    has_runtime && [[ " ${PACKAGES[*]} $KUBERNETES_VERSION" =~ kubelet|\..*\. ]] &&
        [ "$(installed "${PACKAGES[@]}" | wanted_versions | wc -l)" = ${#PACKAGES[@]} ] &&
        [ "$(installed "${NEEDED[@]}" | wc -l)" = ${#NEEDED[@]} ]
}

# Of packages those that are installed: a version on each line.
installed() {
    dpkg-query --show --showformat '${db:Status-Status} ${Version}\n' "$@" 2>/dev/null |
        sed -n 's/^installed //p'
}

# From whatever source: one that the image brought stays.
has_runtime() {
    command -v "${CONTAINER_RUNTIME/%docker/dockerd}" >/dev/null &&
        command -v "${CONTAINER_RUNTIME/%containerd/ctr}" >/dev/null
}

# All that the machine will need, in one transaction of apt.
packages() {
    local found version wanted=("${NEEDED[@]}")
    found=$(apt-cache madison kubeadm | awk '{ print $3 }') # the newest first
    version=$(wanted_versions <<<"$found" | head -n 1) ||
        fail "$PACKAGE_REPOSITORY has no kubeadm $KUBERNETES_VERSION; it has: ${found//$'\n'/ }"
    # The image of a machine that is no node yet may be newer than its cluster.
    is_node || wanted+=(--allow-downgrades)
    wanted+=("${PACKAGES[@]/%/=$version}")
    if ! has_runtime; then
        wanted+=("${CONTAINER_RUNTIME/%docker/docker.io}")
        # Debian 13 has Docker's command line in a package of its own.
        [ "$CONTAINER_RUNTIME" = containerd ] || ! apt-cache show docker-cli &>/dev/null ||
            wanted+=(docker-cli)
    fi
    apt install -y --no-install-recommends --allow-change-held-packages "${wanted[@]}"
}

# What containerd makes of a file and what that imports, with its defaults.
containerd_config() { containerd --config "$1" config dump | grep -v '^imports = '; }

# Changes some keys only: the image's owner may have added runtimes, such as those of GPUs.
configure_containerd() {
    local config=/etc/containerd/config.toml sandbox before wanted q="[\"']"
    sandbox=$(kubeadm config images list ${IMAGE_REPOSITORY:+--image-repository "$IMAGE_REPOSITORY"} \
        --kubernetes-version "$(kubeadm version -o short)" | grep '/pause:')
    mkdir -p "${config%/*}"
    cp "$config" "$config.new" 2>/dev/null || containerd config default >"$config.new"
    before=$(containerd_config "$config.new")
    # Docker's package disables the CRI, which then has no keys.
    sed -i -E "/^ *disabled_plugins/ { :more; /\]/! { N; b more; }
        s/$q(io\.containerd\.(grpc\.v1\.)?)?cri(\.v1\.(images|runtime))?$q *,?//g }" "$config.new"
    # Beside a folder of registries containerd takes no mirrors.
    wanted=$(containerd_config "$config.new" | sed -E \
        -e 's|^( *SystemdCgroup = ).*|\1true|' \
        -e '/runtimes\.runc\.options\]$/,/^ *(\[|$)/ { /SystemdCgroup/d }' \
        -e '/runtimes\.runc\.options\]$/ a SystemdCgroup = true' \
        -e "s|^( *sandbox(_image)? = ).*|\1\"$sandbox\"|" \
        -e '/\.cni\]$/,/^ *\[/ s|^( *bin_dirs? = \[?)[^]]*|\1"/opt/cni/bin"|' \
        -e '/registry\]$/,/^ *\[/ s|^( *config_path = ).*|\1"/etc/containerd/certs.d"|' |
        awk '/^ *\[/ { drop = /registry\.(mirrors\.|configs\..*\.tls)/ } !drop')
    echo "$wanted" >"$config.new"
    wanted=$(containerd_config "$config.new") # in the same order
    grep -q "config_path = $q/etc/containerd/certs.d" <<<"$wanted" ||
        fail "$(containerd --version) knows no folder of registries; it must be 1.5 or later"
    if [ "$wanted" != "$before" ]; then
        mv "$config.new" "$config"
        systemctl restart containerd
    fi
    rm -f "$config.new"
    systemctl enable --quiet --now containerd
    # It starts without its CRI when the kernel is short of something just then.
    cri_works || systemctl restart containerd
    cri_works || fail "the CRI plugin of containerd does not work:" \
        "$(journalctl --unit containerd --no-pager | grep 'failed to load plugin.*cri' | tail -n 1)"
}

cri_works() { ctr plugins ls | awk '$2 == "cri" && $NF == "ok" { ok = 1 } END { exit !ok }'; }

configure_docker() {
    # Merged: what the image brought stays.
    python3 - /etc/docker/daemon.json <<'PYTHON'
import json, pathlib, sys
path, driver = pathlib.Path(sys.argv[1]), "native.cgroupdriver"
before = json.loads(path.read_text() or "{}") if path.exists() else {}
others = [word for word in before.get("exec-opts", []) if not word.startswith(driver)]
after = {**before, "exec-opts": [*others, f"{driver}=systemd"]}
if after != before:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(after, indent=2) + "\n")
PYTHON
    docker info --format '{{.CgroupDriver}}' 2>/dev/null | grep -qx systemd ||
        systemctl restart docker
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
mkdir -p /opt/cni/bin
[ ! -d /usr/lib/cni ] || ln -sf /usr/lib/cni/* /opt/cni/bin/
systemctl enable --quiet kubelet
"configure_$CONTAINER_RUNTIME"
