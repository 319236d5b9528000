"""What goes wrong while an image is made, said to its user."""


class ImageError(Exception):
    """The image cannot be made; the message says what to do next."""
