#!/bin/sh
# Create the bootstrap token of the configuration on the standard input, and print the cluster's CA.
set -e
kubeadm token create --config /dev/stdin >/dev/null
cat /etc/kubernetes/pki/ca.crt
