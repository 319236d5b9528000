"""Phases of the cluster's nodes: install, join, label, drain, remove."""
