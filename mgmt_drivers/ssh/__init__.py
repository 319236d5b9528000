"""Reaching machines: connections, commands, parallel work and waiting."""
