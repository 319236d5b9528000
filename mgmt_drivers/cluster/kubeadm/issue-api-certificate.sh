#!/bin/bash
# Issue the apiserver's certificate and key by the configuration on the standard input. Its last part
# gets a new folder: kubeadm keeps a certificate that it finds.
set -euo pipefail
umask 077
pki=/etc/kubernetes/pki
folder=$(mktemp -d "$pki.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cp "$pki"/ca.{crt,key} "$folder"
{ cat && echo "certificatesDir: $folder"; } | kubeadm init phase certs apiserver --config /dev/stdin
mv "$folder"/apiserver.{key,crt} "$pki"
