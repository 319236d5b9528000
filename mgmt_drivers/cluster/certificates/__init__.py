"""The certificates that kubeadm has made, and the programs that use them."""
