"""kubeadm: the first control-plane node, and the nodes that join it."""
