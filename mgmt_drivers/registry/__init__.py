"""The private registry: parameters, image, container."""
