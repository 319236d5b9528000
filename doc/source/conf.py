"""Sphinx configuration of the user guide."""

import sys
from pathlib import Path

# The guide shows what the code has: plans, and requests that the scenarios send.
sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent / "_ext")]

project = "tacker-mgmt-drivers"
copyright = "2026, the tacker-mgmt-drivers developers"  # noqa: A001 - Sphinx's name
html_theme = "alabaster"
extensions = ["parameters", "plans", "reno.sphinxext"]
exclude_patterns: list[str] = []
