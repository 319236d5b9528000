"""Sphinx configuration of the user guide."""

import sys
from pathlib import Path

# The guide shows what the code has: operations, parameters, and requests that the scenarios send.
sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent / "_ext")]

project = "tacker-mgmt-drivers"
copyright = "2026, the tacker-mgmt-drivers developers"  # noqa: A001 - Sphinx's name
extensions = [
    "api_requests",
    "parameters",
    "phase_pictures",
    "outlines",
    "reno.sphinxext",
    "sphinx.ext.graphviz",
    "sphinx_design",
    "timelines",
]
graphviz_output_format = "svg"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["guide.css"]
exclude_patterns: list[str] = []
