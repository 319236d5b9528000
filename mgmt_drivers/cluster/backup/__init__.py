"""Backups of etcd, and clusters that are restored from a backup."""
