#!/bin/bash
# Run a command without the variables of proxies. Their names end in _proxy, in upper or lower case:
# kubeadm gives all of them to the control plane and to kube-proxy.
for name in $(compgen -e); do
    [[ ${name,,} != *_proxy ]] || unset "$name"
done
exec "$@"
