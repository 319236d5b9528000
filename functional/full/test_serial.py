"""Conformance tests that fill nodes, taint them or evict pods, and tests of network policies."""

from functional import conformance
from functional.full import test_addons, test_conformance


class SerialConformance(test_conformance.ConformanceScenario):
    """A cluster with all settings that workloads notice, and with policies in force."""

    overlays = (str(test_addons.OVERLAY),)
    options = {"hardening": "cis", "addons": test_addons.listed((test_addons.POLICIES,))}

    def test_serial_conformance(self) -> None:
        self.check_conformance(conformance.SUBSET, conformance.POLICIES, conformance.SERIAL)
