"""Phases of the storage server, and of the PersistentVolumes that lie on it."""
