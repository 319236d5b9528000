"""Kubernetes' conformance tests that fill nodes, taint them or evict pods, on a new cluster."""

from functional import conformance
from functional.full import test_conformance


class SerialConformance(test_conformance.ConformanceScenario):
    def test_serial_conformance(self) -> None:
        self.check_conformance(conformance.SERIAL)
