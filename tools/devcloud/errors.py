"""What goes wrong in the embedded cloud, said to its user."""


class CloudError(Exception):
    """The cloud cannot do what was asked; the message says what to do next."""
