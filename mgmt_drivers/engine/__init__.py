"""Runs the phases of an operation: connections, locks, lanes, trace, dry run."""
