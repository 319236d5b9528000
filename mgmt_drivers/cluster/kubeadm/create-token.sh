#!/bin/sh
# Create the bootstrap token of the configuration on the standard input, print the cluster's CA and a
# line of three dashes, and run the words after $1. Before, revoke the join credentials that an operation which was killed has left: the tokens with the
# description $1, the certificates for control-plane nodes, and the token with which they end.
set -e
kube() {
    kubectl --kubeconfig /etc/kubernetes/admin.conf --namespace kube-system --request-timeout 10s "$@"
}
revoke() {
    described=$(printf %s "$1" | base64)
    tokens=$(kube get secrets --field-selector type=bootstrap.kubernetes.io/token \
        --output jsonpath='{range .items[*]}{.metadata.name} {.data.description}{"\n"}{end}' |
        sed -n "s/ $described\$//p")
    owners=$(kube get secret kubeadm-certs --ignore-not-found \
        --output jsonpath='{.metadata.ownerReferences[*].name}')
    # shellcheck disable=SC2086 # several names
    kube delete secret kubeadm-certs $tokens $owners --ignore-not-found
}
revoke "$1" >/dev/null 2>&1 || true # they end by themselves within two hours
kubeadm token create --config /dev/stdin >/dev/null
cat /etc/kubernetes/pki/ca.crt
printf '\n---\n'
shift
exec "$@"
