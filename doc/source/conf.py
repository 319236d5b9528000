"""Sphinx configuration of the user guide."""

project = "tacker-mgmt-drivers"
copyright = "2026, the tacker-mgmt-drivers developers"  # noqa: A001 - Sphinx's name
html_theme = "alabaster"
exclude_patterns: list[str] = []
