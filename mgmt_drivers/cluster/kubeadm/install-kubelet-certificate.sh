#!/bin/bash
# Give kubelet the client certificate and key (PEM) that stand on the standard input before a line of
# three dashes: without it a connection broke, and nothing changes. They lie in folder $1 as kubelet
# keeps them: in a file to which the link kubelet-client-current.pem leads. The kubeconfig
# $2 names the link, also if it held a certificate itself, which no kubelet renews. kubelet is
# restarted here: whoever comes again finds a new certificate, and nothing to do.
set -euo pipefail
umask 077
while IFS= read -r line && [ "$line" != --- ]; do
    printf '%s\n' "$line"
done >"$1/kubelet-client-renewed.new"
[ "$line" = --- ] || { echo "the standard input ended early" >&2 && exit 1; }
mv "$1/kubelet-client-renewed.new" "$1/kubelet-client-renewed.pem"
ln -sfn "$1/kubelet-client-renewed.pem" "$1/renewed.new"
mv -T "$1/renewed.new" "$1/kubelet-client-current.pem"
for kind in certificate key; do
    sed -i "s|client-$kind-data:.*|client-$kind: $1/kubelet-client-current.pem|" "$2"
done
systemctl restart kubelet
