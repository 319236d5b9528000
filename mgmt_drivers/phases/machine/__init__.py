"""Phases of any new machine."""
