"""Tacker management drivers: a Docker private registry and a Kubernetes cluster."""

__version__ = "0.1.0"
