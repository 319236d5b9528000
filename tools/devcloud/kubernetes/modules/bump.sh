#!/bin/sh
# Names a release of Kubernetes in its series' go.mod, or in that of another folder:
#   bump.sh 1.37.3
#   bump.sh 1.37.3 conformance
#
# Its staging modules become those of the same release; etcd and CoreDNS those that its
# kubeadm wants. A series without a folder begins as a copy of the newest one, which alone
# has the programs of no series. For a release of one of those, first, in the folder:
#   go mod edit -require=github.com/containerd/containerd/v2@v2.4.3
set -eu
version=$1
series=${2:-${version%.*}}
cd "$(dirname "$0")"
newest=$(printf '%s\n' [0-9]* | sort -V | tail -1)
[ -d "$series" ] || cp -r "$newest" "$series"
cd "$series"

go mod edit -require="k8s.io/kubernetes@v$version"
source=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's/^\t"Dir": "\(.*\)",/\1/p')
wanted() {
    sed -n "s/^\t$1 *= \"v*\([0-9.]*\).*/\1/p" "$source/cmd/kubeadm/app/constants/constants.go"
}

# The replacements end the file.
sed -i '/^replace (/,$d' go.mod
{
    printf 'replace (\n\tdevcloud.example/programs => ../programs\n'
    # Not required, since other programs may require newer ones.
    module=github.com/coredns/coredns
    printf '\t%s => %s v%s\n' $module $module "$(wanted CoreDNSVersion)"
    for name in api client/pkg client etcdctl etcdutl pkg server; do
        module=go.etcd.io/etcd/$name/v3
        printf '\t%s => %s v%s\n' "$module" "$module" "$(wanted DefaultEtcdVersion)"
    done
    sed -n "s/^\t\(k8s.io.*\) => .*/\t\1 => \1 v0.${version#1.}/p" "$source/go.mod"
    printf ')\n'
} >>go.mod
if grep -q programs/flanneld go.mod; then
    trap 'rm -r ../programs/flanneld' EXIT
    ../flanneld.sh
fi
go mod tidy
