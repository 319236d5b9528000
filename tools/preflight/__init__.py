"""Tells what a cloud lacks for the scenarios, and makes it."""
