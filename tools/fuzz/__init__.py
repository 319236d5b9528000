"""Tries random requests on the drivers: ``python -m tools.fuzz --help``."""
