"""Phases that turn machines into a Kubernetes cluster."""
