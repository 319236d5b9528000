#!/bin/bash
# Run the arguments, a kubeadm that makes a node, if there are any. Then let nobody but root read how
# kubelet and the pod network are configured, and what etcd has, and remove the kubeconfig that no rule
# of the cluster limits: nothing needs it once kubeadm has initialized the cluster.
set -e
"$@"
rm -f /etc/kubernetes/super-admin.conf
units=$(systemctl show kubelet --property=FragmentPath --property=DropInPaths | sed 's/^[^=]*=//')
for file in /etc/kubernetes/*.conf /etc/kubernetes/manifests/*.yaml /var/lib/kubelet/*.yaml \
    /var/lib/kubelet/*.env /etc/cni/net.d/* $units; do
    [ ! -f "$file" ] || chmod go-rwx "$file"
done
[ ! -d /var/lib/etcd ] || chmod go-rwx /var/lib/etcd # kubeadm leaves a folder that is there as it is
