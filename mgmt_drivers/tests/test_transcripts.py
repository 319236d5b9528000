"""What each operation does, command by command, beside its transcript in ``transcripts/``.

A change that is meant writes them anew, and its commit explains their diff::

    python -m mgmt_drivers.tests.test_transcripts
"""

import dataclasses
import difflib
import itertools
import json
import os
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import CommandFailed, ConnectionFailed, MgmtDriverError
from mgmt_drivers.operations import modify, registry, scale_in, scale_out
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.testing.fake_cluster import MASTER_CP
from mgmt_drivers.testing.fakes import named
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    NOT_NEW,
    PARAMS,
    STORAGE,
    WORKERS,
    SimulatedClusterTest,
    SimulatedRegistry,
    new_node,
)
from mgmt_drivers.testing.simulation import Fault, SimulatedSession
from mgmt_drivers.testing.transcript import Recorder
from mgmt_drivers.tests.test_backup import BackedUpClusterTest
from mgmt_drivers.tests.test_certificates import AgingClusterTest
from mgmt_drivers.tests.test_pools import POOL, PooledClusterTest
from mgmt_drivers.tests.test_upgrade import WANTED, UpgradableClusterTest

_FOLDER = Path(__file__).parent / "transcripts"
_WRITE = "WRITE_TRANSCRIPTS"
_PLAIN = {
    key: value
    for key, value in PARAMS.items()
    if key in {"script_path", "kubernetes_version", "package_repository"} or key.endswith("_node")
}
_STORAGE = {key: PARAMS[key] for key in ("storage_server", "pv_registration_params")}
_REGISTRIES = "private_registry_connection_info"
_NEW_MASTERS = ("10.10.0.12", "10.10.0.121")
_NEW_WORKERS = ("10.10.0.20", "10.10.0.200")


class TranscriptTest(SimulatedClusterTest):
    """Notes all that operations do."""

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.recorder = Recorder(Path(folder.name))

    def services(self, *args: Any, **changes: Any) -> Services:
        made = super().services(*args, **changes)
        return dataclasses.replace(
            made,
            trace_folder=self.recorder.folder,
            connect=self.recorder.recording(made.connect),
            threads=1,
        )

    def assert_told(self) -> None:
        """The story is the one of the transcript that has the test's name."""
        name = self.id().rpartition(".test_")[2].replace("_", "-")
        path, text = _FOLDER / f"{name}.txt", self.recorder.text(self.store)
        if os.environ.get(_WRITE):
            path.write_text(text)
        known = path.read_text() if path.exists() else ""
        lines = difflib.unified_diff(
            known.splitlines(), text.splitlines(), str(path), "now", lineterm="", n=2
        )
        diff = "\n".join(itertools.islice(lines, 200))
        self.assertFalse(diff, f"\n{diff}\nIf this is meant: python -m {__spec__.name}")

    def failing(self, operation: Callable[[Services], None], fault: Fault) -> None:
        """Carry an operation out that a fault ends, and note nothing."""
        with self.assertRaises(MgmtDriverError):
            operation(dataclasses.replace(super().services(fault), threads=1))
        for machine in self.world.machines.values():
            machine.alive = True

    def arriving(self, role: str, *addresses: str, is_member: bool = False) -> LcmRequest:
        """A request about machines that come now."""
        for number, address in enumerate(addresses, start=100):
            self.arrive(new_node(role, number, address), is_member)
        return self.request(*self.ids(*addresses))


def failing_at(*words: str, role: str = "") -> Fault:
    """The command fails, each time."""

    def before(session: SimulatedSession, argv: Any) -> None:
        if set(words) <= {*named(argv)} and session.machine.role.startswith(role):
            raise CommandFailed(" ".join(words), 1, "it fails")

    return before


def killing_at(*words: str, role: str = "") -> Fault:
    """The machine dies at the command."""

    def before(session: SimulatedSession, argv: Any) -> None:
        if set(words) <= {*named(argv)} and session.machine.role.startswith(role):
            session.machine.alive, session.machine.interrupted = False, True
            raise ConnectionFailed("connection lost")

    return before


class InstantiateTest(TranscriptTest):
    def made(self, is_retried_after: Fault | None = None, **changes: Any) -> None:
        self.params = {**_PLAIN, **changes}
        self.build(is_clustered=False)
        if is_retried_after:
            self.failing(self.instantiate, is_retried_after)
        if not {"storage_server", "etcd_backup"} & set(changes):
            del self.world.machines[self.machine(STORAGE).node.server_id]
        self.instantiate(self.services())
        self.assert_told()

    def test_instantiate_1_1(self) -> None:
        master = {**PARAMS["master_node"], "cluster_cp_name": MASTER_CP}
        self.params = {**_PLAIN, "master_node": master}
        self.build(is_clustered=False)
        for address in (*MASTERS[1:], WORKERS[1], STORAGE):
            del self.world.machines[self.machine(address).node.server_id]
        self.instantiate(self.services())
        self.assert_told()

    def test_instantiate_3_2(self) -> None:
        self.made()

    def test_instantiate_with_storage(self) -> None:
        self.made(**_STORAGE)

    def test_instantiate_with_helm(self) -> None:
        self.made(helm=PARAMS["helm"])

    def test_instantiate_with_addons(self) -> None:
        """A definition with an object of its kind, and a workload."""
        text = "apiVersion: {}\nkind: {}\nmetadata: {{name: {}}}\nspec: {{selector: {{}}}}\n"
        definition, thing, agent = (text.format(*words) for words in (
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example.com"),
            ("example.com/v1", "Thing", "one"), ("apps/v1", "DaemonSet", "agent"),
        ))
        (self.package / "things.yaml").write_text(f"{definition}---\n{thing}")
        (self.package / "agent.yaml").write_text(agent)
        self.made(addons=[{"name": n, "manifest_path": f"{n}.yaml"} for n in ("things", "agent")])

    def test_instantiate_with_registries(self) -> None:
        self.made(**{_REGISTRIES: PARAMS[_REGISTRIES]})

    def test_instantiate_with_proxy(self) -> None:
        self.made(proxy={"http_proxy": "http://me:pr0xy@10.10.0.3:3128", "no_proxy": "example.com"})

    def test_instantiate_with_docker(self) -> None:
        self.made(container_runtime="docker")

    def test_instantiate_with_backups(self) -> None:
        self.operation = NOT_NEW
        self.made(etcd_backup={"interval": "1h", "keep": 3}, **_STORAGE)

    def test_instantiate_with_monitoring(self) -> None:
        self.made(monitoring={})

    def test_retry_after_init_failed(self) -> None:
        self.made(failing_at("run-kubeadm", "init"))

    def test_retry_after_a_join_failed(self) -> None:
        self.made(failing_at("run-kubeadm", "join", role="worker"))

    def test_retry_after_a_machine_died(self) -> None:
        self.made(killing_at("run-kubeadm", "join", role="master"))

    def test_retry_after_packages_failed(self) -> None:
        self.made(killing_at("ctr", role="worker"))


class PoolsTest(TranscriptTest, PooledClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.params = {**_PLAIN, "kubernetes_version": self.version, "worker_pools": [POOL]}

    def test_instantiate_with_pools(self) -> None:
        folder = self.package / "patches"
        (folder / "files").mkdir(parents=True)
        (folder / "kube-apiserver+json.yaml").write_text("[]")
        (folder / "files/policy.yaml").write_text("rules: []")
        self.params |= {"kubeadm_patches": "patches"}
        self.build(is_clustered=False)
        del self.world.machines[self.machine(STORAGE).node.server_id]
        self.instantiate(self.services())
        self.assert_told()

    def test_change_of_labels_and_taints(self) -> None:
        self.build()
        del self.world.machines[self.machine(STORAGE).node.server_id]
        patch = {"worker_pools": [{**POOL, "labels": {"rack": "r7"}}]}
        modify.modify(self.request(), self.services(), self.vims, patch)
        self.assert_told()


class ScaleTest(TranscriptTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def test_scale_out_workers(self) -> None:
        request = self.arriving("worker", *_NEW_WORKERS)
        scale_out.scale_out(request, self.services(), self.vims)
        self.assert_told()

    def test_scale_out_masters(self) -> None:
        request = self.arriving("master", *_NEW_MASTERS)
        scale_out.scale_out(request, self.services(), self.vims)
        self.assert_told()

    def test_scale_in_workers(self) -> None:
        request = self.request(*self.ids(*WORKERS))
        scale_in.scale_in(request, self.services(), self.vims)
        self.assert_told()

    def test_scale_in_masters(self) -> None:
        self.arriving("master", *_NEW_MASTERS, is_member=True)
        self.world.leader = self.machine(MASTERS[0]).name
        request = self.request(*self.ids(*MASTERS[:2]))
        scale_in.scale_in(request, self.services(), self.vims)
        self.assert_told()

    def test_undo_of_a_scale_out(self) -> None:
        request = self.arriving("master", *_NEW_MASTERS)
        fault = failing_at("/readyz", f"https://{_NEW_MASTERS[1]}:6443")
        with self.assertRaises(MgmtDriverError):
            scale_out.scale_out(request, self.services(fault), self.vims)
        self.assert_told()

    def test_roll_back_of_masters(self) -> None:
        self.arriving("master", *_NEW_MASTERS, is_member=True)
        for address in _NEW_MASTERS:
            del self.world.machines[self.machine(address).node.server_id]
        self.recorder.say("before Heat")
        scale_out.begin_roll_back(self.request(), self.services(), ["masterNode"])
        self.recorder.say("after Heat")
        scale_out.roll_back_scale_out(self.request(), self.services(), ["masterNode"])
        self.assert_told()

    def test_roll_back_of_workers(self) -> None:
        self.arriving("worker", _NEW_WORKERS[0], is_member=True)
        del self.world.machines[self.machine(_NEW_WORKERS[0]).node.server_id]
        scale_out.roll_back_scale_out(self.request(), self.services())
        self.assert_told()


class HealTest(TranscriptTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def heal(self, *addresses: str, is_alive: bool = True) -> None:
        targets = [self.machine(address).node for address in addresses]
        for target in targets:
            self.world.machines[target.server_id].alive = is_alive
        ids = [target.vnfc_id for target in targets]
        self.recorder.say("heal_start")
        self.heal_start(self.request(*ids), self.services())
        for target in targets:
            self.replaced(target)
        self.recorder.say("heal_end")
        self.heal_end(self.request(*ids), self.services())
        self.assert_told()

    def test_heal_of_a_worker(self) -> None:
        name = self.machine(WORKERS[0]).name
        self.world.nodes[name]["metadata"]["labels"]["rack"] = "r7"
        self.heal(WORKERS[0])

    def test_heal_of_a_master(self) -> None:
        self.heal(MASTERS[1])

    def test_heal_of_a_master_that_is_dead(self) -> None:
        self.heal(MASTERS[0], is_alive=False)

    def test_heal_of_the_storage_server(self) -> None:
        self.heal(STORAGE)

    def test_retry_of_a_heal(self) -> None:
        target = self.machine(MASTERS[0]).node
        request = self.request(target.vnfc_id)

        def start(services: Services) -> None:
            self.heal_start(request, services)

        self.failing(start, failing_at("member", "remove"))
        self.recorder.say("heal_start")
        start(self.services())
        self.replaced(target)

        def end(services: Services) -> None:
            self.heal_end(self.request(target.vnfc_id), services)

        self.failing(end, killing_at("run-kubeadm", "join"))
        self.recorder.say("heal_end")
        end(self.services())
        self.assert_told()


class BackUpTest(TranscriptTest, BackedUpClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.instantiated()
        self.recorder = Recorder(self.recorder.folder)
        for file in self.recorder.folder.glob("*"):
            file.unlink()

    def heal_whole(self, request: Callable[[], LcmRequest]) -> None:
        self.recorder.say("heal_start")
        self.heal_start(request(), self.services())
        self.replace_all()
        self.recorder.say("heal_end")
        self.heal_end(request(), self.services())
        self.assert_told()

    def test_heal_of_the_whole_vnf(self) -> None:
        self.heal_whole(self.request)

    def test_heal_that_restores_a_backup(self) -> None:
        self.heal_whole(self.whole)

    def test_rotation_of_the_encryption_key(self) -> None:
        modify.modify(self.request(), self.services(), self.vims, {"rotate_encryption_key": True})
        self.assert_told()

    def test_heal_of_the_backup_server(self) -> None:
        self.world.claimed, self.world.claims = False, []
        target = self.machine(STORAGE).node
        self.heal_start(self.request(target.vnfc_id), self.services())
        self.replaced(target)
        self.heal_end(self.request(target.vnfc_id), self.services())
        self.assert_told()


class UpgradeTest(TranscriptTest, UpgradableClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def test_upgrade(self) -> None:
        modify.modify(self.request(), self.services(), self.vims, WANTED)
        self.assert_told()

    def test_change_of_parameters(self) -> None:
        patch = {"image_repository": "registry.example.org/k8s", "drain_timeout": "1h"}
        modify.modify(self.request(), self.services(), self.vims, patch)
        self.assert_told()

    def test_retry_of_an_upgrade(self) -> None:
        def upgrade(services: Services) -> None:
            modify.modify(self.request(), services, self.vims, WANTED)

        second = self.machine(MASTERS[1]).name
        self.failing(upgrade, failing_at("drain", second))
        upgrade(self.services())
        self.assert_told()


class RenewalTest(TranscriptTest, AgingClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def test_renewal_on_request(self) -> None:
        self.renew(self.services())
        self.assert_told()

    def test_renewal_by_a_scale_out(self) -> None:
        self.scale_out(self.services())
        self.assert_told()


class DefragmentationTest(TranscriptTest):
    def test_defragmentation_of_etcd(self) -> None:
        self.build()
        databases = self.world.databases
        databases.sizes = {member["name"]: databases.quota for member in self.world.members}
        databases.alarms = [(1, "NOSPACE")]
        modify.modify(self.request(), self.services(), self.vims, {"defragment_etcd": True})
        self.assert_told()


class RegistryTest(TranscriptTest, SimulatedRegistry):
    """The VNF of the private registry."""

    def test_registry(self) -> None:
        self.build()
        registry.instantiate(self.request(), self.services())
        self.recorder.say("heal")
        registry.instantiate(self.request(), self.services())
        self.assert_told()

    def test_registry_with_bundles(self) -> None:
        """One of the request, and one that a modification adds, which later heals bring back."""
        self.build()
        first, second = self.have_bundles("first.tar", "second.tar")
        self.registry |= {"bundles": [first]}
        registry.instantiate(self.request(), self.services())
        for text in ("modify", "modify again"):
            self.recorder.say(text)
            wanted = json.dumps({"bundles": [second]})
            registry.add_bundles(self.request(), self.services(), wanted)
        self.recorder.say("heal")
        self.world.machines.clear()
        self.world.add(self._node)
        registry.instantiate(self.request(), self.services())
        self.assert_told()


if __name__ == "__main__":
    os.environ[_WRITE] = "1"
    _FOLDER.mkdir(exist_ok=True)
    for old in _FOLDER.glob("*.txt"):
        old.unlink()
    unittest.main()
