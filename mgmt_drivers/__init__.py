"""Tacker management drivers: a Docker private registry and a Kubernetes cluster."""
