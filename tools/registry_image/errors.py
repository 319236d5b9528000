"""The errors of this tool."""


class ImageError(Exception):
    """The image cannot be made; the message says what to do next."""
