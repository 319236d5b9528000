"""Tacker's two APIs: only this package translates requests, stored values and VIMs."""
