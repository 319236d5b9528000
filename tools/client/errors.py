"""Errors of the cloud behind Tacker."""


class ClientError(Exception):
    """The cloud or one of its machines refused a request; the message has the reason."""
