"""Measurements of the drivers on simulated machines, and of self-healing on a cloud."""
