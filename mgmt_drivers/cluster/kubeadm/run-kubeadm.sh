#!/bin/bash
# Run kubeadm to init or to join, as $4 tells, by the words after $4, unless the machine is a
# member, as the file $2 tells; or, if $4 is reset, reset what it has done. One at a time on a
# machine: a kubeadm whose connection broke may still run. What it left half done is reset, and what
# an image has of the node that it was made from, whose own file beside $2 tells. A machine that
# joins may lose its etcd data: whoever runs this has seen that the others have a quorum without it.
# One that is initialized may not, unless an image has them, or an interrupted init left
# them: they may be all there is of a cluster. Before the configuration of a join, and a line of
# three dashes, the standard input has the kubeconfig that the configuration names: it holds a token.
set -e
socket=$1 member=$2 logins=$3 verb=$4
shift 4
kept=${member%/*}/${logins##*/}
begun=${member%/*}/init-begun
mkdir -p "${member%/*}"
exec 9>"${member%/*}/kubeadm.lock"
flock 9
old=${member%/*}/member  # of earlier drivers, which names no machine; gone if it is this one's
[ "$verb" != reset ] || rm -f "$member" "$old"
[ ! -e "$member" ] || exit 0
others=()
for file in "$old"-*; do
    [ ! -e "$file" ] || others+=("$file")
done
if [ "$verb" = init ] && [ -e /var/lib/etcd/member ] && [ ! -e "$begun" ] &&
    [ -z "${others[*]}" ]; then
    echo "the machine has etcd data of a cluster, and nothing tells that an init which was" \
        "broken off left them: nothing was reset. If nobody needs that cluster, run" \
        "\`kubeadm reset\` on the machine, then retry" >&2
    exit 1
fi
[ ! -e "$old" ] || others+=("$old")
if [ -e /etc/kubernetes/kubelet.conf ] || [ -e /etc/kubernetes/bootstrap-kubelet.conf ] ||
    [ -e /etc/kubernetes/pki/ca.crt ]; then
    # With it a reset would take the node from which the image was made out of its etcd.
    [ -z "${others[*]}" ] || rm -f /etc/kubernetes/admin.conf
    # A reset empties kubelet's folder, in which the logins lie already.
    [ ! -e "$logins" ] || mv "$logins" "$kept"
    kubeadm reset --force --cri-socket "$socket" </dev/null >/dev/null
    # What flannel leaves is of the pod CIDR of before.
    for link in cni0 flannel.1; do
        ip link delete "$link" 2>/dev/null || true
    done
    rm -rf /etc/cni/net.d/10-flannel.conflist /run/flannel /var/lib/cni/networks/cbr0
fi
[ -z "${others[*]}" ] || rm -f "${others[@]}"
if [ -e "$kept" ]; then
    mkdir -p "${logins%/*}"
    mv "$kept" "$logins"
fi
[ "$verb" != reset ] || exit 0
[ "$verb" != init ] || touch "$begun"
if [ "$verb" = join ]; then
    kubeconfig=/run/tacker-mgmt-drivers-discovery.conf
    trap 'rm -f "$kubeconfig"' EXIT
    (
        umask 077
        while IFS= read -r line && [ "$line" != --- ]; do
            printf '%s\n' "$line"
        done >"$kubeconfig"
    )
fi
"$@" 9>&-
if [ "$verb" = init ]; then
    mv "$begun" "$member"  # in one step: an init that has ended must not look begun
else
    rm -f "$begun"
    touch "$member"
fi
