#!/bin/sh
# Builds Kubernetes 1.20, which still drove Docker itself, from Debian's source package: it
# holds all of it with its vendor tree, though Debian's binary package is the client only.
# Leaves /opt/series/1.20: bin/ with static programs (pause too) and a file `version`.
# etcd of that time stays installed.
set -eu
export DEBIAN_FRONTEND=noninteractive
. /etc/os-release
printf 'deb-src http://deb.debian.org/debian %s main\n' "$VERSION_CODENAME" \
    >/etc/apt/sources.list.d/source.list
apt-get update -qq
before=$(apt-mark showmanual)
apt-get install -y -qq --no-install-recommends dpkg-dev gcc golang-go jq libc6-dev make rsync \
    golang-github-modern-go-reflect2-dev >/dev/null

mkdir /build
cd /build
echo "devcloud: fetching the source of Kubernetes"
# apt verifies the source by the archive's signed digests.
apt-get source -qq kubernetes >/dev/null
version=$(dpkg-parsechangelog -l kubernetes-*/debian/changelog -S Version |
    sed 's/.*really//; s/[+-].*//')
cd kubernetes-*/
# With the reflect2 of that time, whatever Go 1.18 or later builds crashes at its
# first map.
rm -r vendor/github.com/modern-go/reflect2
cp -r /usr/share/gocode/src/github.com/modern-go/reflect2 vendor/github.com/modern-go/

bin=/opt/series/${version%.*}/bin
mkdir -p "$bin"
gcc -static -Os -s -o "$bin/pause" build/pause/linux/pause.c
install -D -m 0644 /provision/crictl.go cmd/crictl/crictl.go
programs="crictl kubeadm kubectl kubelet kube-apiserver kube-controller-manager kube-proxy kube-scheduler"
export CGO_ENABLED=0 GO111MODULE=off GOFLAGS=-trimpath
export KUBE_GIT_VERSION="v$version" KUBE_GIT_TREE_STATE=archive KUBE_GIT_COMMIT=debian
KUBE_GIT_MAJOR=${version%%.*}
KUBE_GIT_MINOR=$(printf '%s' "$version" | cut -d. -f2)
export KUBE_GIT_MAJOR KUBE_GIT_MINOR KUBE_STATIC_OVERRIDES="$programs"
echo "devcloud: compiling Kubernetes $version, 4 to 8 minutes on 2 cores"
# shellcheck disable=SC2086  # words are what is wanted
make --no-print-directory GOLDFLAGS="-s -w" WHAT="$(printf 'cmd/%s ' $programs)"

for program in $programs; do
    install -m 0755 "_output/bin/$program" "$bin/"
done
printf '%s\n' "$version" >"$bin/../version"

cd /
rm -rf /build /etc/apt/sources.list.d/source.list
# shellcheck disable=SC2086
apt-mark auto '.*' >/dev/null && apt-mark manual $before >/dev/null
apt-get autoremove -y -qq --purge >/dev/null
apt-get install -y -qq --no-install-recommends etcd-client etcd-server >/dev/null
apt-get clean
rm -rf /var/lib/apt/lists/*
