"""Access to the cluster: service accounts and kubeconfigs."""
