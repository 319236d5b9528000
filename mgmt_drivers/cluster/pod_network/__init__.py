"""The pod network of a new cluster."""
