"""Another version of Kubernetes."""
