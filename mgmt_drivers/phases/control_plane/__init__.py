"""Phases of the control plane: etcd, the load balancer and the virtual IP, access to the API."""
