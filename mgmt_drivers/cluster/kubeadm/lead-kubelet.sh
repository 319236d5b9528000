#!/bin/sh
# Lead kubelet, whose kubeconfig is $1, to the API at the address $2, unless the static pod of the
# manifest $3 has release $4 already: then the node's part of the upgrade is done.
set -e
if grep -q "image: .*:$4\$" "$3"; then
    exit 0
fi
sed -i "s|^\( *server:\) .*|\1 https://$2|" "$1"
systemctl restart kubelet
