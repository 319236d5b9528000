"""Helm on control-plane nodes, for CNFs by charts."""
