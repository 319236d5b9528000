#!/bin/bash
# Run kubeadm, as the words after $7 say, unless the machine is a member, as the file $1 tells.
# One at a time on a machine: a kubeadm whose connection broke may still run. What it left half
# done is reset, which is safe for a machine that never became a member.
set -e
member=$1 socket=$2 logins=$3
# Of the built-in pod network: a reset leaves the pod CIDR of before, from which pods would get
# addresses until the network is configured anew.
unit=$4 bridge=$5 cni_config=$6 cni_leases=$7
shift 7
kept=${member%/*}/${logins##*/}
mkdir -p "${member%/*}"
exec 9>/run/lock/tacker-mgmt-drivers.kubeadm
flock 9
[ ! -e "$member" ] || exit 0
if [ -e /etc/kubernetes/kubelet.conf ] || [ -e /etc/kubernetes/bootstrap-kubelet.conf ] ||
    [ -e /etc/kubernetes/pki/ca.crt ]; then
    # A reset empties kubelet's folder, in which the logins lie already.
    [ ! -e "$logins" ] || mv "$logins" "$kept"
    kubeadm reset --force --cri-socket "$socket" </dev/null >/dev/null
    systemctl --quiet stop "$unit" 2>/dev/null || true
    ip link delete "$bridge" 2>/dev/null || true
    rm -rf "$cni_config" "$cni_leases"
fi
if [ -e "$kept" ]; then
    mkdir -p "${logins%/*}"
    mv "$kept" "$logins"
fi
"$@" 9>&-
touch "$member"
