"""The packages and images of a node, and its container runtime."""
