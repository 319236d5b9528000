"""Connections to machines over SSH, and the commands that are run on them."""
