"""The upgrade of a cluster to the newest series by another package, through the v2 API."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from functional import conformance, faults
from functional.cluster_scenario import MASTER
from functional.upgrade_scenario import BEFORE, UpgradeScenario, newest_series
from mgmt_drivers.cluster.modification import DEFAULT_FILE
from tools.client.api import V2
from tools.client.lcm import Package, Vnf

# Phases, and what strikes them. The first does not strike the dry run.
FAULTS = (
    ("install kubeadm", "cut", "install_k8s_cluster"),
    ("choose a control-plane node", "fails", "describe-machine /var"),
    ("gather facts", "fails", "kubectl .* get nodes"),
    ("pull images", "cut", "images pull"),
    ("save a snapshot of etcd", "fails", "snapshot save"),
    ("upgrade the cluster", "cut", "kubeadm upgrade apply"),
    ("upgrade control-plane nodes", "cut", "kubectl .* drain"),
    ("upgrade control-plane nodes", "cut", "kubeadm upgrade node"),
    ("upgrade control-plane nodes", "fails", "systemctl restart kubelet"),
    ("give the login user a kubeconfig", "fails", "give-kubeconfig /var"),
    ("upgrade workers", "cut", "kubectl .* patch node worker-"),
    # Not the script that installs kubeadm alone, which KUBERNETES_PACKAGES names at last.
    ("upgrade workers", "cut", "NODE_ROLE=worker .*EXTRA_PACKAGES=[^=]*install_k8s_cluster"),
    ("verify the virtual IP", "cut", "16443 .* --raw /readyz"),
)


class UpgradeThroughV2(UpgradeScenario):
    """Each phase that acts fails once, and is retried."""

    api = V2()
    next_package: Package

    def test_upgrade(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        self.check_versions(BEFORE)
        self.check_benchmark(vnf)
        self.upgrade(vnf, self.change_package, workers=2)
        with newest_series():  # with which the guide's output was recorded
            self.check_guide_output("nodes_upgraded", vnf, "get nodes")
        master = self.machines(vnf)[MASTER][0]
        conformance.check(master, self.registry, conformance.SUBSET, self.name)
        self.upgrade(vnf, self.modify, workers=2)  # nothing is left to do
        (vnfc, _), *_ = self.vnfcs(vnf, MASTER)
        with newest_series():
            self.heal(vnf, [vnfc])  # with the templates of the new package
            self.check_balanced_cluster(vnf, workers=2)
        self.check_terminate(vnf)

    def onboard_package(
        self, files: Mapping[str, Path] | None = None, overlays: Sequence[str] = ()
    ) -> Package:
        """Both packages: what is onboarded before the VNF exists is deleted after it."""
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        wanted = folder / "modification.yaml"
        wanted.write_text(json.dumps(self.wanted()))  # which is YAML, too
        new = {**(files or {}), DEFAULT_FILE: wanted}
        self.next_package = super().onboard_package(new, overlays)
        return super().onboard_package(files, overlays)

    def change_package(self, vnf: Vnf) -> dict[str, Any]:
        vnfd = self.next_package.vnfd_id
        request = {"upgrade_type": "RollingUpdate", "vdu_params": []}
        machines = [machine for group in self.machines(vnf).values() for machine in group]
        for machine in machines:
            faults.prepare(machine)
        occurrence: dict[str, Any] = {}
        for phase, kind, pattern in FAULTS:
            with faults.injected(machines, kind, pattern):
                occurrence = (
                    vnf.retry(occurrence)
                    if occurrence
                    else vnf.change_package({"vnfdId": vnfd, "additionalParams": request})
                )
            self.assert_failed(occurrence, f"phase '{phase}'")
        occurrence = vnf.retry(occurrence)
        self.assertEqual(vnfd, vnf.show()["vnfdId"])
        return occurrence

