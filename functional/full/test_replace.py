"""Another package gives all machines another image, one after another; a rollback goes back."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from functional import faults
from functional.cluster_scenario import MASTER, WORKER
from functional.nodes_scenario import NodesScenario
from functional.requests import REQUESTS
from tools.client import wait
from tools.client.api import V2
from tools.client.config import CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log
from tools.client.poll import poll_api

# The join of a control-plane node, when Heat has replaced the machine.
FAULT = ("join nodes", "fails", "init phase upload-certs")

_LONGEST_OUTAGE = 10  # seconds
_AVAILABLE = 4  # pods, by the PodDisruptionBudget of the workload
_OLD, _NEW = "12", "13"  # releases of Debian


class Replacement(NodesScenario):
    api = V2()
    next_package: Package

    def test_replacement(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        self.assertEqual({_OLD}, self.systems(vnf))
        self.roll_back(vnf)
        with self.nothing_missing():
            self.assert_completed(self.replace(vnf))
        self.check(vnf, _NEW, self.next_package.vnfd_id)
        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.assertEqual({_NEW}, self.systems(vnf))
        self.check_balanced_cluster(vnf, workers=3)
        self.check_terminate(vnf)

    def onboard_package(
        self, files: Mapping[str, Path] | None = None, overlays: Sequence[str] = ()
    ) -> Package:
        """Both packages: what is onboarded before the VNF exists is deleted after it."""
        self.image = CONFIG.prepared_image or CONFIG.node_image
        self.next_package = super().onboard_package(files, overlays)
        self.image = CONFIG.older_image
        return super().onboard_package(files, overlays)

    def replace(self, vnf: Vnf) -> dict[str, Any]:
        """Ask as the guide does."""
        request = json.loads((REQUESTS / "kubernetes/replace.json").read_text())
        return vnf.change_package({**request, "vnfdId": self.next_package.vnfd_id})

    def roll_back(self, vnf: Vnf) -> None:
        """A new control-plane node cannot join after all workers have been replaced."""
        before = vnf.show()
        masters = [machine for _, machine in self.vnfcs(vnf, MASTER)]
        staying = masters[1:]  # Tacker lists first what is replaced first
        for master in staying:
            faults.prepare(master)
        with faults.injected(staying, *FAULT[1:]), self.nothing_missing():
            failed = self.replace(vnf)
        self.assert_failed(failed, FAULT[0])
        with self.nothing_missing():
            self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        self.check(vnf, _OLD, before["vnfdId"])
        levels = [vnf["instantiatedVnfInfo"]["scaleStatus"] for vnf in (before, vnf.show())]
        self.assertEqual(*levels)

    def check(self, vnf: Vnf, system: str, vnfd_id: str) -> None:
        self.assertEqual({system}, self.systems(vnf))
        self.assertEqual(vnfd_id, vnf.show()["vnfdId"])
        self.check_balanced_cluster(vnf, workers=2)

    def systems(self, vnf: Vnf) -> set[str]:
        """Releases of Debian that the machines have."""
        found = {
            machine.address: machine.run(". /etc/os-release; echo $VERSION_ID").strip()
            for vdu in (MASTER, WORKER)
            for _, machine in self.vnfcs(vnf, vdu)
        }
        log(f"systems: {found}")
        return set(found.values())

    @contextmanager
    def nothing_missing(self) -> Iterator[None]:
        """The API answers all the time, and the PodDisruptionBudget's pods are ready."""
        seen: list[int] = []

        def watch() -> None:
            with suppress(Exception):  # the API may be away for some seconds
                seen.append(self.cluster.ready_replicas())

        with wait.meanwhile(watch, 1), poll_api(self.vim_before.auth_url) as api:
            yield
        log(f"ready pods of the workload: {len(seen)} times seen, at least {min(seen)}")
        self.assertLessEqual(_AVAILABLE, min(seen))
        self.assertLess(api.answers.longest, _LONGEST_OUTAGE)
        self.assertLess(api.readiness.longest, _LONGEST_OUTAGE)
