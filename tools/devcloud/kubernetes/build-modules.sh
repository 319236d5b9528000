#!/bin/sh
# Builds what a cluster of today runs from the Go module proxy. Each folder of
# /provision/modules with a go.mod that names tools is a set: a series of Kubernetes or
# what is of no series. Its programs go to /opt/series/SET/bin, all of them static,
# and the version of a series to /opt/series/SET/version.
set -eu
export DEBIAN_FRONTEND=noninteractive
. /etc/os-release
# Debian 12's own Go is too old to fetch the toolchain that the sources want.
backports=$VERSION_CODENAME-backports
printf 'deb http://deb.debian.org/debian %s main\n' "$backports" \
    >/etc/apt/sources.list.d/backports.list
apt-get update -qq
before=$(apt-mark showmanual)
apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null
apt-get install -y -qq --no-install-recommends -t "$backports" golang-go >/dev/null
# From the module proxy, checked against the checksum database as any module is.
export GOTOOLCHAIN=go1.26.11 CGO_ENABLED=0

# The release of a module in the current folder's set.
release() {
    go list -m -f '{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}' "$1"
}
source_of() {
    go list -m -f '{{.Dir}}' "$1"
}
names() {
    grep -q "$1" go.mod
}
stamp() {
    printf ' -X %s=%s' "$1" "$2"
}
# Flags for the linker, which write into the programs what release they are.
stamps() {
    if names k8s.io/kubernetes/cmd; then
        version=$(release k8s.io/kubernetes)
        minor=${version#v1.}
        date=$(go list -m -f '{{.Time.Format "2006-01-02T15:04:05Z"}}' k8s.io/kubernetes)
        for package in k8s.io/client-go/pkg/version k8s.io/component-base/version; do
            stamp "$package.gitVersion" "$version"
            stamp "$package.gitMajor" 1
            stamp "$package.gitMinor" "${minor%.*}"
            stamp "$package.gitCommit" unknown
            stamp "$package.gitTreeState" archive
            stamp "$package.buildDate" "$date"
        done
    fi
    while read -r module variable; do
        if names "$module"; then
            stamp "$variable" "$(release "$module")"
        fi
    done <<VARIABLES
github.com/containerd/containerd/v2 github.com/containerd/containerd/v2/version.Version
github.com/containernetworking/plugins github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion
github.com/flannel-io/flannel github.com/flannel-io/flannel/pkg/version.Version
helm.sh/helm/v3 helm.sh/helm/v3/internal/version.version
VARIABLES
}

for folder in /provision/modules/*/; do
    cd "$folder"
    names '^tool ' || continue
    set=$(basename "$folder")
    bin=/opt/series/$set/bin
    mkdir -p "$bin"
    if names programs/flanneld; then
        ../flanneld.sh
    fi
    echo "devcloud: compiling the programs of $set"
    # The tags are upstream's own. The linker drops DWARF (-w), so none is made.
    set -- -trimpath -tags selinux,notest,grpcnotrace,urfave_cli_no_docs \
        -gcflags=all=-dwarf=false -ldflags "-s -w$(stamps)"
    go build "$@" -o "$bin/" tool
    if names containerd/v2/cmd; then
        unit=$(source_of github.com/containerd/containerd/v2)/containerd.service
        sed 's|/usr/local/bin|/usr/bin|' "$unit" >"$bin/../containerd.service"
    fi
    if names programs/flanneld; then
        cp "$(source_of github.com/flannel-io/flannel)/Documentation/kube-flannel.yml" "$bin/.."
    fi
    if names aquasecurity/kube-bench; then
        cp -r "$(source_of github.com/aquasecurity/kube-bench)/cfg" "$bin/.."
    fi
    if names kubernetes/test/images; then
        go test -c "$@" -o "$bin/e2e.test" k8s.io/kubernetes/test/e2e
        cp -r "$(source_of k8s.io/kubernetes)/test/images" "$bin/.."
    fi
    if names kubernetes/cmd/kubelet; then
        mv "$bin/server" "$bin/etcd"
        pause=$(source_of k8s.io/kubernetes)/build/pause/linux/pause.c
        gcc -static -Os -s -o "$bin/pause" "$pause"
        release k8s.io/kubernetes | sed 's/^v//' >"$bin/../version"
    fi
done

cd /
rm -r /etc/apt/sources.list.d/backports.list /provision/modules
# shellcheck disable=SC2086  # words are what is wanted
apt-mark auto '.*' >/dev/null && apt-mark manual $before >/dev/null
apt-get autoremove -y -qq --purge >/dev/null
apt-get clean
rm -rf /var/lib/apt/lists/*
