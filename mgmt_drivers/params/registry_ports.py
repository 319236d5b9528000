"""The ports of a private registry VNF, which clusters know by its address alone."""

DEFAULT_PORT = 5000  # of images


def of_packages(port: int) -> int:
    """The port of the packages in bundles: behind that of images."""
    return port + 1
