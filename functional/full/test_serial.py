"""Conformance tests that fill nodes, taint them or evict pods, and tests of network policies."""

from functional import conformance
from functional.full import test_conformance


class SerialConformance(test_conformance.ConformanceScenario):
    """The tests of policies need the add-on of the request."""

    def test_serial_conformance(self) -> None:
        self.check_conformance(conformance.SUBSET, conformance.POLICIES, conformance.SERIAL)
