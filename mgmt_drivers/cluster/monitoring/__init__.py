"""The health of machines, for Prometheus."""
