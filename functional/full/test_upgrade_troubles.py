"""An upgrade that is refused, fails half-way, waits for other operations, and finds cordons."""

import json
from collections.abc import Collection
from typing import Any

from functional import faults, shared
from functional.cluster_scenario import MASTER, WORKER
from functional.kubernetes import KUBECTL
from functional.upgrade_scenario import BEFORE, NEWEST, UpgradeScenario, newest_series
from mgmt_drivers.cluster.modification import NAME
from tools.client.api import V2
from tools.client.image_upload import copy_images
from tools.client.lcm import Vnf
from tools.client.log import log

_PATH = "another"  # in the registry, which has all images there but one, at first
_IMAGE = "pause"
# On the second control-plane node.
FAULT = ("upgrade control-plane nodes", "fails", "kubeadm upgrade node")


class UpgradeInTrouble(UpgradeScenario):
    """Through the v2 API, which alone ends a modification that has failed."""

    api = V2()
    kind = Vnf  # faults are not predicted

    def test_upgrade_in_trouble(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        self.check_versions(BEFORE)
        failed = self.refuse_without_image(vnf)
        old = self.fail_half_way(vnf, failed)
        self.heal_and_scale(vnf, old)
        self.upgrade_cordoned_workers(vnf, old)
        self.check_terminate(vnf)

    def wanted(self) -> dict[str, Any]:
        return {**super().wanted(), "image_repository": f"http://{self.registry}/{_PATH}"}

    def refuse_without_image(self, vnf: Vnf) -> dict[str, Any]:
        """The error names the image and what to do, and no node changes; returns the operation."""
        with newest_series():
            shared.private_registry()  # gets the images
        log(f"copied {copy_images(self.registry, _PATH, lambda name: name != _IMAGE)}")
        failed = self.modify(vnf)
        self.assert_failed(
            failed, "phase 'pull images'", f"cannot pull {self.registry}/{_PATH}/{_IMAGE}:",
            "Push the image into its registry", "image_repository",
        )
        self.check_versions(BEFORE)
        self.assertEqual(set(), self.cordoned())
        self.check_balanced_cluster(vnf, workers=2)
        return failed

    def fail_half_way(self, vnf: Vnf, failed: dict[str, Any]) -> set[str]:
        """With the image the second control-plane node fails; returns the nodes not upgraded."""
        log(f"copied {copy_images(self.registry, _PATH, lambda name: name == _IMAGE)}")
        (_, first), (_, second), _ = self.vnfcs(vnf, MASTER)  # the drivers go in this order
        old = self.cluster.node_names() - {self.node_name(first)}
        faults.prepare(second)
        phase, *fault = FAULT
        with faults.injected([second], *fault):
            failed = vnf.retry(failed)
        self.assert_failed(failed, f"phase '{phase}'", second.address)
        self.tacker.fail_vnf_instance(failed["id"])
        self.assertEqual({self.node_name(second)}, self.cordoned())
        self.check_old(old)
        self.check_balanced_cluster(vnf, workers=2)
        return old

    def heal_and_scale(self, vnf: Vnf, old: Collection[str]) -> None:
        """Replace a worker and the node that has been upgraded, and add a worker.

        The first heal names the upgrade again, since Tacker has forgotten where the packages and
        images come from; a heal that is complete has Tacker keep them.
        """
        params = {"additionalParams": {NAME: self.wanted()}}
        for vdu in (WORKER, MASTER):
            vnfc, _ = self.vnfcs(vnf, vdu)[0]
            self.assert_completed(vnf.heal({"vnfcInstanceId": [vnfc], **params}))
            params = {}
            self.check_old(old)
            self.check_balanced_cluster(vnf, workers=2)
        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.check_old(old)
        self.check_balanced_cluster(vnf, workers=3)

    def upgrade_cordoned_workers(self, vnf: Vnf, old: Collection[str]) -> None:
        """Pods find no other worker; what the administrator has cordoned stays cordoned."""
        workers = {self.node_name(machine) for _, machine in self.vnfcs(vnf, WORKER)}
        self.cordon(workers, True)
        wanted = {**self.wanted(), "drain_timeout": "1m"}
        failed = vnf.modify({"metadata": {NAME: json.dumps(wanted)}})
        held = "no eviction is allowed by PodDisruptionBudget default/load"
        self.assert_failed(failed, "phase 'upgrade workers'", held)
        self.assertEqual(workers, self.cordoned())
        self.check_old(workers & {*old})
        master = self.machines(vnf)[MASTER][0]
        master.run(f"{KUBECTL} delete poddisruptionbudget load")
        self.assert_completed(vnf.retry(failed))
        self.check_versions(NEWEST)
        self.assertEqual(workers, self.cordoned())
        self.assertNotIn(NAME, vnf.show()["metadata"])
        self.cordon(workers, False)
        self.check_balanced_cluster(vnf, workers=3)

    def check_old(self, old: Collection[str]) -> None:
        """Exactly these of the present nodes have the version before."""
        found = self.cluster.kubelet_versions()
        log(f"kubelets: {found}")
        newest = {name for name, version in found.items() if version.startswith(f"v{NEWEST}.")}
        self.assertEqual(found.keys() & {*old}, found.keys() - newest)

    def cordoned(self) -> set[str]:
        nodes = self.cluster.core.list_node().items
        return {node.metadata.name for node in nodes if node.spec.unschedulable}

    def cordon(self, names: Collection[str], is_cordoned: bool) -> None:
        """Cordon nodes, or uncordon them, as ``kubectl cordon`` does."""
        for name in names:
            body = {"spec": {"unschedulable": is_cordoned}}
            self.cluster.core.patch_node(name, body, _preload_content=False)
