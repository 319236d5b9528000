"""Backups of etcd, and clusters that are made of one."""
