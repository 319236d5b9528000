"""Carries out the plan of an operation: connections, phases, trace."""
