"""Measurements of the drivers on simulated machines."""
