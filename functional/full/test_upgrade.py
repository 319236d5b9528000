"""The upgrade of a cluster to the newest series of Kubernetes, through both versions of the API."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fixtures import EnvironmentVariable

from functional import faults, shared
from functional.foretold import ForetoldVnf
from functional.nodes_scenario import NodesScenario
from functional.poll import poll_api
from functional.requests import REQUESTS
from mgmt_drivers.params.modification import DEFAULT_FILE, NAME
from mgmt_drivers.params.series import SUPPORTED
from tools.client import kubernetes_source, wait
from tools.client.api import V2
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step

_BEFORE, _AFTER = list(SUPPORTED)[-2:]
_KEY = "Files/kubernetes-new.asc"
_NODES = 6  # after scale-out by two workers and scale-in by one
# Phases, and what strikes them. The first does not strike the dry run.
_FAULTS = (
    ("install kubeadm", "cut", "install_k8s_cluster"),
    ("choose a control-plane node", "fails", "test -e .*/member"),
    ("check the cluster", "fails", "kubectl .* get nodes"),
    ("pull images", "cut", "images pull"),
    ("save a snapshot of etcd", "fails", "snapshot save"),
    ("upgrade the cluster", "cut", "kubeadm upgrade apply"),
    ("keep the version", "cut", "kubectl .* apply"),
    ("upgrade control-plane nodes", "cut", "kubectl .* drain"),
    ("upgrade control-plane nodes", "cut", "kubeadm upgrade node"),
    ("upgrade control-plane nodes", "fails", "systemctl restart kubelet"),
    ("give the login user a kubeconfig", "fails", "give-kubeconfig /var"),
    ("upgrade workers", "cut", "kubectl .* patch"),
    ("upgrade workers", "cut", "install_k8s_cluster"),
    ("verify the virtual IP", "cut", "16443 .* --raw /readyz"),
)


def _newest() -> EnvironmentVariable:
    """While it is set up, the newest series is the configured one."""
    return EnvironmentVariable("FUNCTIONAL_KUBERNETES_VERSION", _AFTER)


class Upgrade(NodesScenario):
    """Three masters and two workers with a workload; the API is polled meanwhile.

    A dry run foretells each operation.
    """

    kind = ForetoldVnf
    kubernetes_version = _BEFORE

    def onboard_package(
        self, files: Mapping[str, Path] | None = None, overlays: Sequence[str] = ()
    ) -> Package:
        with _newest():
            key = kubernetes_source.repository_key(_KEY)
        return super().onboard_package({**(files or {}), **key}, overlays)

    def wanted(self) -> dict[str, Any]:
        """What the guide's request wants of a cluster, with the sources of this cloud."""
        request = json.loads((REQUESTS / "kubernetes/upgrade.json").read_text())
        wanted = json.loads(request["metadata"][NAME])
        with _newest():
            shared.private_registry()  # gets the images
            source = kubernetes_source.source_params(None, _KEY)
        wanted |= {key: value for key, value in source.items() if value is not None}
        return {**wanted, "kubernetes_version": _AFTER}

    def modify(self, vnf: Vnf) -> dict[str, Any]:
        return vnf.modify({"metadata": {NAME: json.dumps(self.wanted())}})

    def ask(self, vnf: Vnf) -> dict[str, Any]:
        """Ask for the upgrade."""
        return self.modify(vnf)

    def upgrade(self, vnf: Vnf, ask: Callable[[Vnf], dict[str, Any]]) -> None:
        with poll_api(self.vim_before.auth_url) as seen:
            self.assert_completed(ask(vnf))
        self.assertLess(seen.answers.longest, 10)
        self.assertLess(seen.readiness.longest, 10)
        self.assertNotIn(NAME, vnf.show()["metadata"])
        self.check_versions(_AFTER)
        self.check_balanced_cluster(vnf, workers=2)

    def heal_master(self, vnf: Vnf, vnfc: str) -> None:
        """When the cluster misses the dead node: what is foretold of the node stays true then."""
        with step("wait until the cluster misses the node"):
            wait.until(self.count_ready, lambda seen: seen == _NODES - 1, 300, "ready nodes")
        super().heal_master(vnf, vnfc)

    def count_ready(self) -> int:
        """How many nodes are ready; 0 while no API answers."""
        try:
            return len(self.cluster.ready_nodes())
        except Exception as error:
            log(f"API: {type(error).__name__}")
            return 0

    def check_versions(self, series: str) -> None:
        found = self.cluster.kubelet_versions()
        log(f"kubelets: {found}")
        self.assertEqual({f"v{series}"}, {v.rpartition(".")[0] for v in found.values()})

    def check_guide_outputs(self, vnf: Vnf) -> None:
        with _newest():
            self.check_guide_output_of_operations("upgraded", vnf, "MODIFY_INFO")
            self.check_guide_output("nodes_upgraded", vnf, "get nodes")

    def test_upgrade(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        self.check_versions(_BEFORE)
        self.upgrade(vnf, self.ask)
        self.check_guide_outputs(vnf)
        self.upgrade(vnf, self.modify)  # nothing is left to do
        self.scale_out_and_in(vnf)
        self.heal_machines(vnf)
        self.check_versions(_AFTER)
        self.check_terminate(vnf)

    def heal_machines(self, vnf: Vnf) -> None:
        self.heal_dead_leader(vnf)
        self.check_versions(_AFTER)
        self.heal_vnf(vnf)


class UpgradeThroughV2(Upgrade):
    """Another package upgrades the cluster; each phase that acts fails once, and is retried."""

    api = V2()
    next_package: Package

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

    def ask(self, vnf: Vnf) -> dict[str, Any]:
        vnfd = self.next_package.vnfd_id
        request = {"upgrade_type": "RollingUpdate", "vdu_params": []}
        machines = [machine for group in self.machines(vnf).values() for machine in group]
        for machine in machines:
            faults.prepare(machine)
        occurrence: dict[str, Any] = {}
        for phase, kind, pattern in _FAULTS:
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

    def heal_machines(self, vnf: Vnf) -> None:
        """What machines get is seen through the v1 API."""

    def check_guide_outputs(self, vnf: Vnf) -> None:
        """The guide has those of the v1 API."""
