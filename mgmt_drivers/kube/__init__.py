"""The vocabulary of a Kubernetes cluster that phases are written in."""
