"""Add-ons: objects of the VNF package that a cluster has beside its pod network."""
