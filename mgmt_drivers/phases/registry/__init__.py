"""Phases of the private registry."""
