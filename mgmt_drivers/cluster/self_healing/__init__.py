"""Guard rails of heals that nobody typed: Tacker begins them when the monitoring sends alerts."""
