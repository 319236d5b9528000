"""Scenarios that take too long for every run: ``tox -e functional-full``."""
