"""Phases of an upgrade: checks, preparation, the control plane, and the nodes."""
