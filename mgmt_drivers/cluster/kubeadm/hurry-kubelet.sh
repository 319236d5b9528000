#!/bin/bash
# Run the words, by which kubeadm replaces the static pods of a control-plane node one after another,
# and restart kubelet whenever it would wait. kubelet starts a new pod 10 to 15 seconds after it has
# told the old one to end (its pkg/kubelet/pod_workers.go, allowPodStart). If the node's apiserver was
# away, kubelet asks it less and less often, up to 30 seconds apart, and kubeadm hears of the new pod
# that late. The exit status is that of the words: whatever is seen wrongly costs a restart of kubelet.
# An upgrade needs six, and as many if kubeadm puts the old pods back; a kubelet that restarts has no
# patience with programs that fail again and again, so there are no more.
is_ready() {
    kubectl --kubeconfig /etc/kubernetes/admin.conf --server https://127.0.0.1:6443 \
        --tls-server-name kubernetes --request-timeout 2s get --raw /readyz >/dev/null 2>&1
}
restart() {
    restarts=$((restarts + 1))
    [ "$restarts" -gt 12 ] || systemctl try-restart kubelet
}
before='' told='' away=false restarts=0
"$@" &
while sleep 1 && kill -0 $! 2>/dev/null; do
    # The kernel keeps 15 letters of a name. Users' programs of the same name only hide that one ends.
    running=$(pgrep -x 'etcd|kube-apiserver|kube-controller|kube-scheduler')
    if $away && is_ready; then
        away=false
        restart
    elif [ "$(wc -w <<<"$running")" -lt 4 ] && [ "$running" = "$before" ] &&
        [ "$running" != "$told" ]; then
        told=$running
        restart
        is_ready || away=true
    fi
    before=$running
done
wait $!
