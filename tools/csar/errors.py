"""Errors for the authors of packages."""


class CsarError(Exception):
    """The command cannot go on; the message says what to do next."""
