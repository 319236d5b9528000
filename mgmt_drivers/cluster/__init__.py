"""A kubeadm cluster, one folder a capability."""
