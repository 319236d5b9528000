"""Tacker's two APIs: requests, stored values and VIMs are translated here, and nowhere else."""
