"""Phases that prepare any machine, whatever it is to be."""
