#!/bin/sh
# A node image on which the packages of a cluster are preinstalled, as an operator's own would be
# (tools/cloud_image makes those): machines need no package source.
set -eu
export DEBIAN_FRONTEND=noninteractive
echo 'deb [trusted=yes] file:/provision/apt /' >/etc/apt/sources.list.d/kubernetes.list
apt-get update -qq
apt-get install -y -qq --no-install-recommends containerd kubeadm kubectl kubelet \
    conntrack ethtool haproxy keepalived nfs-common socat >/dev/null
rm -r /etc/apt/sources.list.d/kubernetes.list /provision/apt
apt-get clean
rm -rf /var/lib/apt/lists/*
