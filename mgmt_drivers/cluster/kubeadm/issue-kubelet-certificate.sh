#!/bin/bash
# Let kubeadm issue a client certificate for the kubelet of the node that the configuration on the
# standard input registers. Print the certificate and its key (PEM).
set -euo pipefail
umask 077
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
kubeadm init phase kubeconfig kubelet --config /dev/stdin --kubeconfig-dir "$folder" >&2
for kind in certificate key; do
    sed -n "s/^ *client-$kind-data: *//p" "$folder/kubelet.conf" | base64 -d
done
