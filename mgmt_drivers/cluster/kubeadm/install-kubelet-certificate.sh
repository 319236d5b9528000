#!/bin/bash
# Give kubelet the client certificate and key (PEM) on the standard input. They lie in folder $1 as
# kubelet keeps them: in a file to which the link kubelet-client-current.pem leads. The kubeconfig
# $2 names the link, also if it held a certificate itself, which no kubelet renews. kubelet is
# restarted here: whoever comes again finds a new certificate, and nothing to do.
set -euo pipefail
umask 077
cat >"$1/renewed.new"
mv "$1/renewed.new" "$1/kubelet-client-renewed.pem"
ln -sfn "$1/kubelet-client-renewed.pem" "$1/renewed.new"
mv -T "$1/renewed.new" "$1/kubelet-client-current.pem"
for kind in certificate key; do
    sed -i "s|client-$kind-data:.*|client-$kind: $1/kubelet-client-current.pem|" "$2"
done
systemctl restart kubelet
