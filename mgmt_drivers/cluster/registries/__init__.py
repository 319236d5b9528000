"""Private registries, from which nodes pull."""
