"""Settings of the cluster's programs and machines that make the cluster harder to attack."""
