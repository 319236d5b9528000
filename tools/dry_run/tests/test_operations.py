"""On the simulated cluster: a dry run changes nothing, and tells what the operation then does."""

import copy
import dataclasses
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from mgmt_drivers.engine.dry_run import Line
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.operations import modify, registry, scale_in, scale_out
from mgmt_drivers.registry.registry_params import NAME as REGISTRY
from mgmt_drivers.request import Vnfc
from mgmt_drivers.testing.fakes import named
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    NOT_NEW,
    PARAMS,
    STORAGE,
    WORKERS,
    SimulatedClusterTest,
    new_node,
)
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.tests.test_changes import ALL, ChangedClusterTest
from tools.dry_run import new_machines
from tools.dry_run.operations import Result, Vnf

# What commands of a dry run begin with: the programs that only look, whatever their words are.
_LOOKS = {"blkid", "cat", "compare-objects", "date", "df", "describe-machine", "digest-files",
          "dpkg-query", "find-disk", "findmnt", "has-program", "ip", "read-file",
          "show-certificates", "show-unit", "test"}
_LOOKING = (
    ("bash", f"{STATE_FOLDER}/etcd-backup.sh", "list"),
    ("ctr", "--namespace", "k8s.io", "images", "ls"),
    ("docker", "container", "inspect"),
    ("docker", "image", "inspect"),
    ("docker", "version"),
    ("exportfs", "-s"),
    ("kubeadm", "config", "images", "list"),
    ("kubeadm", "version"),
    ("kubelet-serving", "list"),
    ("python3", f"{STATE_FOLDER}/node-health.py", "--check"),
    ("systemctl", "is-active"),
)

Key = tuple[str, str]  # a phase's title and a machine


def only_looks(session: SimulatedSession, argv: Sequence[str]) -> None:
    """Before each command of a dry run."""
    words = named(argv)
    if words[0] == "kubectl":
        assert "get" in words, words
    elif "etcdctl" in words:
        assert {("member", "list"), ("endpoint", "status")} & {*pairwise(words)}, words
    else:
        known = words[0] in _LOOKS or any(words[: len(begin)] == begin for begin in _LOOKING)
        assert known, f"a dry run must not run {words}"


def machine(vdu: str, vnfc: str, known: Sequence[str]) -> str:
    """One that comes is known by its VDU."""
    return f"{vdu} {vnfc if vnfc in known else 'new'}"


class DryRunTest(SimulatedClusterTest):
    """Predicts operations, carries them out, and compares."""

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.traces = Path(folder.name)

    def state(self) -> Any:
        """All that a command could change."""
        machines = [
            {f.name: getattr(m, f.name) for f in dataclasses.fields(m) if f.name != "holder"}
            for m in self.world.machines.values()
        ]
        parts = {
            f.name: getattr(self.world, f.name)
            for f in dataclasses.fields(self.world)
            # The leader is elected when somebody asks for it.
            if f.name not in ("machines", "lock", "leader")
        }
        vims = list(self.vims.registered)  # their secrets are copied nowhere
        return copy.deepcopy((machines, parts, dict(self.store.kept), vims))

    def holders(self) -> list[int]:
        """The connections that have held locks last."""
        return [id(machine.holder) for machine in self.world.machines.values()]

    def predicted(self, dry_run: Callable[[Vnf], Result]) -> Result:
        """The result of a dry run, which changes nothing."""
        before, holders = self.state(), self.holders()
        result = dry_run(Vnf(self.request(), self.services(only_looks)))
        self.assertEqual(before, self.state())
        self.assertEqual(holders, self.holders())
        return result

    def done(self, result: Result, operation: Callable[[], object]) -> None:
        """The operation changes what was predicted."""
        known = [vnfc.id for vnfc in self.request().vnfcs]
        operation()
        lines = (self.traces / "vnf-1.jsonl").read_text().splitlines()
        changed: Counter[Key] = Counter()
        for record in map(json.loads, lines):
            vdu, _, rest = record["node"].partition(" (VNFC ")
            if record["outcome"] == "changed":
                changed[record["phase"], machine(vdu, rest.partition(",")[0], known)] += 1
        self.assert_predicted(changed, result.lines, known)

    def assert_predicted(
        self, changed: Counter[Key], lines: Sequence[Line], known: Sequence[str]
    ) -> None:
        sure: Counter[Key] = Counter()
        open_: Counter[Key] = Counter()
        for line in lines:
            key = (line.phase, machine(line.node.vdu, line.node.vnfc_id, known))
            sure[key] += line.prediction.outcome == "changed"
            open_[key] += line.prediction.outcome == "depends"
            if line.prediction.outcome == "depends":
                self.assertTrue(line.prediction.reason.startswith("on "), line)
        self.assertEqual({}, dict(sure - changed), "predicted, and not done")
        self.assertEqual({}, dict(changed - sure - open_), "done, and not predicted")
        self.assertLessEqual(changed.total() - sure.total(), open_.total())

    def traced(self) -> Any:
        return self.services(trace_folder=self.traces)

    def outcomes(self, result: Result, phase: str) -> list[str]:
        return [line.prediction.outcome for line in result.lines if line.phase == phase]

    def heal(self, *addresses: str) -> Result:
        """The dry run of a heal is right."""
        targets = self.ids(*addresses)
        nodes = [self.machine(address).node for address in addresses]
        result = self.predicted(lambda vnf: vnf.heal(targets))

        def operation() -> None:
            self.heal_start(self.request(*targets), self.traced())
            for node in nodes:
                self.replaced(node)
            self.heal_end(self.request(*targets), self.traced())

        self.done(result, operation)
        self.assertEqual(2, result.runs)
        return result


class ClusterDryRunTest(DryRunTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def test_instantiate(self) -> None:
        numbers = {"masterNode": 3, "workerNode": 2, "storageNode": 1}
        self.world.machines.clear()
        result = self.predicted(lambda vnf: vnf.instantiate(numbers))
        self.assertEqual(0, self.connections.total())
        self.build(is_clustered=False)
        self.assertEqual(6, len(result.after))
        self.done_anew(result, lambda: self.instantiate(self.traced()))

    def done_anew(self, result: Result, operation: Callable[[], object]) -> None:
        """All machines come."""
        known: list[str] = []
        operation()
        lines = (self.traces / "vnf-1.jsonl").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        changed = Counter(
            (r["phase"], f"{r['node'].partition(' (VNFC ')[0]} new")
            for r in records
            if r["outcome"] == "changed"
        )
        self.assert_predicted(changed, result.lines, known)

    def test_scale_out(self) -> None:
        result = self.predicted(lambda vnf: vnf.scale_out({"workerNode": 2}))
        self.assertEqual(["new-1", "new-2"], [n.vnfc_id for n in result.after[-2:]])

        def operation() -> None:
            new = [self.arrive(new_node("worker", n, f"10.10.0.{n}")).node for n in (20, 200)]
            request = self.request(*(node.vnfc_id for node in new))
            scale_out.scale_out(request, self.traced(), self.vims)

        self.done(result, operation)

    def test_scale_out_where_exports_follow_the_nodes(self) -> None:
        server = copy.deepcopy(PARAMS["storage_server"])
        del server["nfs_server_setup_params"][0]["export_to"]
        self.params = {**PARAMS, "storage_server": server}
        self.test_scale_out()
        result = self.predicted(lambda vnf: vnf.scale_out({"workerNode": 1}))
        self.assertEqual(["changed"], self.outcomes(result, "export volumes over NFS"))

    def test_scale_in(self) -> None:
        targets = self.ids(WORKERS[1])
        result = self.predicted(lambda vnf: vnf.scale_in(targets))
        self.assertEqual(5, len(result.after))
        request = self.request(*targets)
        self.done(result, lambda: scale_in.scale_in(request, self.traced(), self.vims))
        (line,) = (line for line in result.lines if line.phase == "drain nodes")
        self.assertEqual(self.machine(WORKERS[1]).name, line.prediction.reason)

    def test_scale_out_of_masters(self) -> None:
        result = self.predicted(lambda vnf: vnf.scale_out({"masterNode": 2}))
        self.assertEqual(["masterNode"] * 5, [n.vdu for n in result.after if n.vdu[0] == "m"])

        def operation() -> None:
            new = [self.arrive(new_node("master", n, f"10.10.0.{n}")).node for n in (20, 200)]
            request = self.request(*(node.vnfc_id for node in new))
            scale_out.scale_out(request, self.traced(), self.vims)

        self.done(result, operation)
        targets = self.ids(*MASTERS[:2])
        result = self.predicted(lambda vnf: vnf.scale_in(targets))
        request = self.request(*targets)
        (self.traces / "vnf-1.jsonl").unlink()
        self.done(result, lambda: scale_in.scale_in(request, self.traced(), self.vims))

    def test_heal_of_a_worker(self) -> None:
        name = self.machine(WORKERS[0]).name
        self.world.nodes[name]["metadata"]["labels"]["rack"] = "r7"
        result = self.heal(WORKERS[0])
        self.assertEqual(["depends"], self.outcomes(result, "restore labels and taints"))

    def test_heal_of_a_worker_that_is_dead(self) -> None:
        self.machine(WORKERS[0]).alive = False
        result = self.heal(WORKERS[0])
        self.assertEqual(["unchanged"], self.outcomes(result, "drain nodes"))

    def test_heal_of_masters(self) -> None:
        result = self.heal(MASTERS[0])
        self.assertEqual(["changed"] * 5, self.outcomes(result, "configure the load balancer"))

    def test_heal_of_a_master_that_is_dead(self) -> None:
        self.machine(MASTERS[2]).alive = False
        result = self.heal(MASTERS[2])
        self.assertEqual([], self.outcomes(result, "release the virtual IP"))

    def test_heal_of_the_storage_server(self) -> None:
        result = self.heal(STORAGE)
        self.assertEqual(["depends"], self.outcomes(result, "register PersistentVolumes"))

    def test_heal_of_the_whole_vnf(self) -> None:
        result = self.predicted(lambda vnf: vnf.heal(()))
        self.assertEqual(0, self.connections.total())
        self.assertTrue(all(new_machines.is_new(node.server_id) for node in result.after))
        kept = self.store
        self.build(is_clustered=False)
        self.store = kept
        self.done(result, lambda: self.heal_end(self.request(), self.traced()))

    def test_what_is_refused_is_refused_before(self) -> None:
        self.world.claimed = True
        for address, words in ((STORAGE, "in use"), (MASTERS[0], "etcd has 3 voters")):
            before = self.state()
            with self.subTest(address), self.assertRaisesRegex(MgmtDriverError, words):
                Vnf(self.request(), self.services(only_looks)).heal(self.ids(address))
            self.assertEqual(before, self.state())
            self.machine(MASTERS[1]).alive = False
        with self.assertRaisesRegex(MgmtDriverError, "does not have the VNFCs"):
            Vnf(self.request(), self.services(only_looks)).heal(["nobody"])

    def test_terminate(self) -> None:
        result = self.predicted(lambda vnf: vnf.terminate())
        self.assertEqual((6, 0), (len(result.before), len(result.after)))


class BackupDryRunTest(DryRunTest):
    """Of a cluster that saves backups on its storage server."""

    operation = NOT_NEW

    def setUp(self) -> None:
        super().setUp()
        self.params = {**PARAMS, "etcd_backup": {}}
        self.build(is_clustered=False)
        self.instantiate(self.services())

    def test_heal_of_a_master(self) -> None:
        result = self.heal(MASTERS[0])
        self.assertEqual(["changed"], self.outcomes(result, "prepare the place of backups"))
        configured = self.outcomes(result, "configure backups of etcd")
        self.assertEqual(["changed", "unchanged", "unchanged"], sorted(configured))

    def test_heal_of_the_storage_server(self) -> None:
        self.world.claimed = False
        result = self.heal(STORAGE)
        self.assertEqual(["changed"] * 3, self.outcomes(result, "configure backups of etcd"))


class UpgradeDryRunTest(DryRunTest):
    def setUp(self) -> None:
        super().setUp()
        self.params = {**PARAMS, "kubernetes_version": "1.36.4"}
        self.build()
        self.world.have("v1.36.4")

    def upgrade(self, **wanted: Any) -> Result:
        """The dry run of an upgrade is right."""
        result = self.predicted(lambda vnf: vnf.modify(wanted))
        (self.traces / "vnf-1.jsonl").unlink(missing_ok=True)
        self.done(result, lambda: modify.modify(self.request(), self.traced(), self.vims, wanted))
        return result

    def test_to_a_release(self) -> None:
        result = self.upgrade(kubernetes_version="1.37.2")
        self.assertEqual(["changed"] * 5, self.outcomes(result, "install kubeadm"))
        self.assertEqual(["changed"] * 2, self.outcomes(result, "upgrade workers"))
        open_ = {line.phase for line in result.lines if line.prediction.outcome == "depends"}
        self.assertEqual({"pull images", "grant Tacker access"}, open_)

    def test_to_a_series(self) -> None:
        result = self.upgrade(kubernetes_version="1.37")
        self.assertEqual(["changed"] * 3, self.outcomes(result, "upgrade control-plane nodes"))
        open_ = {line.phase for line in result.lines if line.prediction.outcome == "depends"}
        self.assertEqual({"pull images", "grant Tacker access"}, open_)

    def test_again(self) -> None:
        self.upgrade(kubernetes_version="1.37.2")
        result = self.upgrade(kubernetes_version="1.37.2")
        changed = [line.phase for line in result.lines if line.prediction.outcome == "changed"]
        self.assertEqual(["install kubeadm"], changed)  # its leader asks the packages
        result = self.upgrade(kubernetes_version="1.37")
        self.assertEqual(["depends"] * 2, self.outcomes(result, "upgrade workers"))

    def test_by_several_series(self) -> None:
        self.params = {**PARAMS, "kubernetes_version": "1.35.3"}
        self.build()
        self.world.have("v1.35.3")
        result = self.upgrade(kubernetes_version="1.37.2")
        expected = ["changed", "changed", "depends", "depends"]
        self.assertEqual(expected, self.outcomes(result, "upgrade workers"))

    def test_other_parameters(self) -> None:
        result = self.upgrade(image_repository="registry.example.org/k8s", drain_timeout="1h")
        self.assertEqual(["changed"], self.outcomes(result, "set the image repository"))
        self.assertEqual(["changed"], self.outcomes(result, "keep the parameters"))
        (traced,) = {
            json.loads(line)["operation"]
            for line in (self.traces / "vnf-1.jsonl").read_text().splitlines()
        }
        self.assertEqual(traced, result.operation)

    def test_of_a_cluster_that_is_not_whole(self) -> None:
        self.world.members.pop()
        with self.assertRaisesRegex(MgmtDriverError, "etcd lacks 1 of 3 members"):
            self.predicted(lambda vnf: vnf.modify({"kubernetes_version": "1.37"}))

    def test_a_defragmentation_of_etcd(self) -> None:
        self.build()
        databases = self.world.databases
        databases.sizes = {self.machine(MASTERS[1]).name: databases.quota}
        databases.alarms, databases.history = [(1, "NOSPACE")], 4 << 20
        wanted = {"defragment_etcd": True}
        result = self.predicted(lambda vnf: vnf.modify(wanted))
        self.assertIn("2048 MiB, of which 12 are in use", str(result.lines))
        found = sorted(self.outcomes(result, "defragment etcd"))
        self.assertEqual(["changed", "depends", "depends"], found)
        self.done(result, lambda: modify.modify(self.request(), self.traced(), self.vims, wanted))

    def test_a_rotation_of_the_encryption_key(self) -> None:
        self.build(is_clustered=False)
        self.instantiate(self.services())
        wanted = {"rotate_encryption_key": True}
        result = self.predicted(lambda vnf: vnf.modify(wanted))
        self.assertEqual(["changed"] * 3, self.outcomes(result, "remove the old encryption key"))
        self.done(result, lambda: modify.modify(self.request(), self.traced(), self.vims, wanted))

    def test_a_modification_that_is_not_the_drivers(self) -> None:
        self.assertEqual([], self.predicted(lambda vnf: vnf.modify(None)).lines)


class ChangesDryRunTest(DryRunTest, ChangedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def change(self, **wanted: Any) -> None:
        """The dry run of a change is right, whatever has failed before."""
        result = self.predicted(lambda vnf: vnf.modify(wanted))
        (self.traces / "vnf-1.jsonl").unlink(missing_ok=True)
        self.done(result, lambda: self.modify(self.traced(), **wanted))

    def test_each_kind(self) -> None:
        for key, value in ALL.items():
            with self.subTest(key):
                self.build()
                self.change(**{key: value})

    def fail_at(self, word: str) -> None:
        def stop(session: SimulatedSession, argv: Sequence[str]) -> None:
            if word in argv:
                raise MgmtDriverError("it ends here")

        with self.assertRaisesRegex(MgmtDriverError, "it ends here"):
            self.modify(self.services(stop), **ALL)

    def test_after_an_attempt_that_failed(self) -> None:
        words = ("issue-api-certificate", "write-files", "change-keys", "apply-unit", "delete")
        for word in words:
            with self.subTest(word):
                self.build()
                self.fail_at(word)
                self.change(**ALL)


class RegistryDryRunTest(DryRunTest):
    """One machine, whose VDU is called worker here."""

    def setUp(self) -> None:
        super().setUp()
        self.build()
        self.world.machines.clear()
        cp = "workerNode_CP2"
        login = {"ssh_cp_name": cp, "ssh_username": "ubuntu", "ssh_password": "hidden"}
        self.registry = {REGISTRY: login}

    def request(self, *targets: str) -> Any:
        found = super().request(*targets)
        return dataclasses.replace(found, additional_params=self.registry)

    def test_instantiate_and_heal(self) -> None:
        result = self.predicted(lambda vnf: vnf.instantiate({"workerNode": 1}))
        node = self.arrive(new_node("worker", 1, "10.10.0.5")).node
        self.world.machines[node.server_id].services.add("docker")
        known = self.request().vnfcs
        self.assertEqual(1, len(known))
        self.set_up(result, [])
        (self.traces / "vnf-1.jsonl").unlink()
        again = self.predicted(lambda vnf: vnf.heal([node.vnfc_id]))
        self.replaced(node)
        self.set_up(again, [vnfc.id for vnfc in known])

    def set_up(self, result: Result, known: Sequence[str]) -> None:
        registry.instantiate(self.request(), self.traced())
        lines = (self.traces / "vnf-1.jsonl").read_text().splitlines()
        records = [r for r in map(json.loads, lines) if r["outcome"] == "changed"]
        where = machine("workerNode", known[0] if known else "", known)
        changed = Counter((r["phase"], where) for r in records)
        self.assertIn(("run the registry", where), changed)
        self.assert_predicted(changed, result.lines, known)


class ComingTest(DryRunTest):
    def test_machines_behind_floating_ips(self) -> None:
        top = {"resources": {
            "fip": {"type": "OS::Neutron::FloatingIP",
                    "properties": {"port_id": {"get_resource": "workerNode_CP2"}}},
            "workerNode_CP2": {"type": "OS::Neutron::Port"},
            "vip_CP": {"type": "OS::Neutron::Port"},
        }}
        (self.package / "BaseHOT/complex/top.yaml").write_text(json.dumps(top))
        self.build()
        vnfc = Vnfc("new-1", "workerNode", "new-1", "new-1")
        stacks = new_machines.stacks_of(self.request(), [vnfc], ())
        names = {address.name for address in stacks["new-1"].addresses}
        self.assertEqual({"fip", "workerNode_CP2"}, names)
        own = {address.name for address in new_machines.own_stack(self.request()).addresses}
        self.assertEqual({"vip_CP"}, own)
