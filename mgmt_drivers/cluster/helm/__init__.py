"""Helm on control-plane nodes, for CNFs that are deployed by charts."""
