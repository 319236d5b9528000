"""The parameters of the drivers in JSON Schema."""
