"""Phases that any driver may use."""
