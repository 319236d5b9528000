"""What goes wrong with a package, said to its author."""


class CsarError(Exception):
    """The command cannot go on; the message says what to do next."""
