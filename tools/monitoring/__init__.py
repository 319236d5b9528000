"""Files for Prometheus and Alertmanager, by which clusters heal and scale themselves."""
