"""Phases of backups of etcd, and of a cluster that is restored from one."""
