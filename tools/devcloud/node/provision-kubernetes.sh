#!/bin/sh
# A node image on which the packages of a cluster are preinstalled, as an operator's own would be
# (tools/cloud_image makes those): machines need no package source.
set -eu
export DEBIAN_FRONTEND=noninteractive
echo 'deb [trusted=yes] file:/provision/apt /' >/etc/apt/sources.list.d/kubernetes.list
apt-get update -qq
# The kernel of a container may have no NFS: mount.nfs then mounts without it.
dpkg-divert --quiet --local --rename --divert /usr/sbin/mount.nfs.real --add /usr/sbin/mount.nfs
apt-get install -y -qq --no-install-recommends containerd kubeadm kubectl kubelet \
    conntrack ethtool haproxy keepalived libnfs14 nfs-common prometheus-node-exporter \
    python3-fuse socat >/dev/null
# The drivers start it on the machines that are monitored.
systemctl disable --quiet prometheus-node-exporter
install -m 0755 /provision/mount-nfs.sh /usr/sbin/mount.nfs
install -m 0644 /provision/mount_nfs.py /usr/local/lib/
rm -r /etc/apt/sources.list.d/kubernetes.list /provision/apt
apt-get clean
rm -rf /var/lib/apt/lists/*
