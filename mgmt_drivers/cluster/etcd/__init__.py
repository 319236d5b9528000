"""The members of etcd, and its quorum."""
