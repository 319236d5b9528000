"""Kubernetes' conformance tests that need a cluster for themselves, on a new cluster."""

from functional.conformance import SERIAL
from functional.conformance_scenario import ConformanceScenario


class SerialConformance(ConformanceScenario):
    """They fill nodes, taint them, and evict pods."""

    def test_serial_conformance(self) -> None:
        self.check_conformance(SERIAL)
