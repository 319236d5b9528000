"""Kubernetes' conformance tests that may run beside each other, on a new cluster."""

from functional.conformance import PARALLEL
from functional.conformance_scenario import ConformanceScenario


class Conformance(ConformanceScenario):
    """Another scenario's cluster would bring a workload that takes the nodes' memory and pods."""

    def test_conformance(self) -> None:
        self.check_conformance(PARALLEL)
