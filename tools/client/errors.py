"""What goes wrong while the cloud behind Tacker is used."""


class ClientError(Exception):
    """The cloud or one of its machines did not do what was asked; the message says why."""
