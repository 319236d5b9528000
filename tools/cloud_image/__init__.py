"""Prepares cloud images for the machines of the VNFs."""
