"""Phases that prepare a machine of any role."""
