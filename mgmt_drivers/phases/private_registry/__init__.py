"""Phases that turn a machine into a Docker private registry."""
