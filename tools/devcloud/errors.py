"""The errors of the embedded cloud."""


class CloudError(Exception):
    """The cloud cannot do what was asked; the message says what to do next."""
