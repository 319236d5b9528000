#!/bin/bash
# Issue the apiserver's certificate and its key anew. The standard input is the configuration; its
# last part, the ClusterConfiguration, gets the folder: kubeadm keeps a certificate that it finds.
# The running apiserver goes on with what it has if this is interrupted between key and certificate.
set -euo pipefail
umask 077
pki=/etc/kubernetes/pki
folder=$(mktemp -d "$pki.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cp "$pki/ca.crt" "$pki/ca.key" "$folder"
{ cat && echo "certificatesDir: $folder"; } |
    kubeadm init phase certs apiserver --config /dev/stdin
mv "$folder/apiserver.key" "$folder/apiserver.crt" "$pki"
