"""The nodes of a cluster, as its API shows and changes them."""
