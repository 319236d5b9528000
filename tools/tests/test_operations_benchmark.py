"""The benchmark of operations: which clusters it makes, what it counts, and its table."""

import functools
import json
import subprocess
import tempfile
import unittest
from collections.abc import Callable, Collection
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from unittest import mock

import docker
import yaml

from mgmt_drivers.cluster.modification import NAME
from tools.benchmark import by_kubeadm, cpu, operations, results
from tools.benchmark.cpu import Meter
from tools.benchmark.operations import _ON_CLUSTER, _ROWS, Measurement
from tools.benchmark.results import Result, table
from tools.client import poll
from tools.client.api import V2
from tools.client.config import CONFIG
from tools.client.errors import ClientError
from tools.client.kubernetes_source import BEFORE, NEWEST, configured
from tools.client.machines import Remote
from tools.client.node_faults import Machine
from tools.client.poll import Outages
from tools.devcloud.identity import SERVER_LABEL
from tools.timeline import runs

_RESULT = Result("renewal", 48.6, 30.2, 45.0, 44.0, 300, 0.6, 0, 1)


class TableTest(unittest.TestCase):
    def test_medians_and_what_lies_around_them(self) -> None:
        others = [replace(_RESULT, seconds=50.0, silence=1.0), replace(_RESULT, seconds=47.0)]
        line, head, _, instantiate, renewal, _ = table(
            [_RESULT, *others, Result("instantiate", 110, 200)], _ROWS
        )
        self.assertEqual(["instantiate", "1", "110", "-", "-", "200", *"----"], instantiate.split())
        self.assertEqual(
            "renewal 3 49 (47 to 50) 45 44 30 300 0.6 (0.6 to 1) 0 1", " ".join(renewal.split())
        )
        for title, start in (("operation", 0), ("silence", head.index("silence"))):
            self.assertEqual("=", line[start], title)
        self.assertEqual(head.index("SSH"), renewal.index("300"))

    def test_no_results_are_no_table(self) -> None:
        self.assertEqual([], table([], _ROWS))


class ResultsFileTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "new/operations.jsonl")

    def test_results_are_appended(self) -> None:
        measurement = Measurement.__new__(Measurement)
        measurement._api, measurement._path, measurement._progress = V2(), self.path, mock.Mock()
        self.assertEqual([], results.load(self.path, _ROWS))
        measurement._keep(_RESULT)
        measurement._keep(Result("terminate", 20.0, 3.0))
        self.assertEqual([_RESULT, Result("terminate", 20.0, 3.0)], results.load(self.path, _ROWS))

    def test_a_file_with_something_else_is_refused_before_anything_is_made(self) -> None:
        self.path.parent.mkdir()
        other = json.dumps(asdict(replace(_RESULT, operation="other")))
        for text in ("{}\n", "no JSON\n", "[1]\n", f"{other}\n"):
            self.path.write_text(text)
            with self.assertRaisesRegex(ClientError, "is no file of results"):
                operations.run(mock.Mock(json=self.path, repeat=1))


class ClustersTest(unittest.TestCase):
    """Operations that need a new cluster get one each time; others share one."""

    def measured(
        self, chosen: Collection[str], times: int, by_hand: bool = False, fails: str = ""
    ) -> tuple[list[str], list[str]]:
        """Return the steps, with ``new`` for each cluster, and the names of the results.

        :param fails: the operation that fails, each time
        """
        done: list[str] = []
        kept: list[str] = []
        measurement = Measurement.__new__(Measurement)
        measurement._api, measurement._progress = V2(), mock.MagicMock()
        measurement._connection = measurement._client = mock.Mock()

        def measure(name: str, *_: Any) -> Result:
            done.append(f"{name} {CONFIG.kubernetes_version}" if name == "instantiate" else name)
            if name == fails:
                raise OSError("no route")
            return Result(name, 1, 1)

        def do(what: str) -> Callable[[], None]:
            return lambda: done.append(f"{what} {CONFIG.kubernetes_version}")

        cluster = mock.Mock(servers=lambda: [], masters=["m"], workers=["w"])
        cluster.heal = lambda machine: do(f"heal {machine}")()
        machines = mock.MagicMock()
        machines.return_value.__enter__.return_value = cluster
        meter = mock.MagicMock()
        running = meter.return_value.running.return_value
        running.__enter__.return_value.used.return_value = 1.0
        seen = mock.MagicMock()
        seen.return_value.__enter__.return_value = poll.Availability(Outages("/"), Outages("/"))
        asked = mock.MagicMock()
        asked.return_value.__enter__.return_value = Outages("/")
        with (
            mock.patch.multiple(
                measurement, _make_registry=mock.Mock(return_value="registry:5000"),
                _onboard=mock.Mock(), _measure=measure, _await_calm=mock.Mock(),
                _keep=lambda result: kept.append(result.operation),
            ),
            mock.patch.multiple(
                operations, load_request=mock.DEFAULT, _keys=mock.DEFAULT, Site=mock.DEFAULT,
                Meter=meter, poll_api=seen, keep_asking=asked,
            ),
            mock.patch.object(operations.by_kubeadm, "machines", machines),
            mock.patch.dict(operations._BY_KUBEADM, {
                name: (operations._BY_KUBEADM[name][0], lambda _, what=what: do(what)())
                for name, what in (("instantiate", "make"), ("upgrade", "upgrade"))
            }),
            mock.patch.object(operations.clusters, "create", lambda *_: done.append("new")),
            mock.patch.dict(operations._ON_CLUSTER, dict.fromkeys(_ON_CLUSTER, mock.Mock())),
        ):
            if fails:
                with self.assertRaisesRegex(ClientError, "cluster 1: OSError: no route"):
                    measurement.run(chosen, times, by_hand)
            else:
                measurement.run(chosen, times, by_hand)
        return done, kept

    def test_an_operation_that_fails_ends_its_round_alone(self) -> None:
        done, kept = self.measured(["upgrade", "scale-out", "scale-in"], 2, fails="scale-out")
        self.assertEqual(["new", f"instantiate {BEFORE}", "upgrade", "scale-out"] * 2, done)
        self.assertEqual(["upgrade"] * 2, kept)

    def test_an_upgrade_begins_with_the_series_before(self) -> None:
        done, kept = self.measured(["upgrade", "scale-out"], 2)
        self.assertEqual(["new", f"instantiate {BEFORE}", "upgrade", "scale-out"] * 2, done)
        self.assertEqual(["upgrade", "scale-out"] * 2, kept)

    def test_one_cluster_for_what_leaves_it_whole(self) -> None:
        done, kept = self.measured(["renewal", "heal-worker"], 3)
        made = ["new", f"instantiate {CONFIG.kubernetes_version}"]
        self.assertEqual([*made, *["heal-worker", "renewal"] * 3], done)
        self.assertEqual(["heal-worker", "renewal"] * 3, kept)

    def test_by_hand(self) -> None:
        done, kept = self.measured(operations._DEFAULT, 2, by_hand=True)
        heals = [f"heal w {NEWEST}", f"heal m {NEWEST}"]
        self.assertEqual([f"make {BEFORE}", f"upgrade {NEWEST}", *heals] * 2, done)
        rows = ("instantiate", "upgrade", "heal-worker", "heal-master")
        self.assertEqual([f"kubeadm-{row}" for row in rows] * 2, kept)
        done, kept = self.measured(["instantiate"], 1, by_hand=True)
        self.assertEqual([f"make {CONFIG.kubernetes_version}"], done)


class RenewalTest(unittest.TestCase):
    def test_certificates_are_old_before_they_are_renewed(self) -> None:
        vdus = {"a": "masterNode", "b": "workerNode", "c": "masterNode"}
        machines = [Machine(name, vdu, name, Remote(name, "")) for name, vdu in vdus.items()]
        site = mock.Mock(machines=lambda: machines)
        with mock.patch.object(operations.certificates, "reissue") as reissue:
            act = _ON_CLUSTER["renewal"](site)
        masters, workers, days = reissue.call_args.args
        addresses = [[remote.address for remote in remotes] for remotes in (masters, workers)]
        self.assertEqual(([["a", "c"], ["b"]], 9), (addresses, days))
        act()
        (body,) = site.vnf.modify.call_args.args
        self.assertIn("renew_certificates", body["metadata"][NAME])


class ByKubeadmTest(unittest.TestCase):
    """The commands of a cluster that is made by hand, on machines that only note them."""

    def setUp(self) -> None:
        self.ran: list[tuple[str, str]] = []  # address and command
        self.put: dict[tuple[str, str], str] = {}  # by address and name
        remotes = [mock.Mock(address=f"192.0.2.{number}") for number in range(5)]
        for remote in remotes:
            remote.run = functools.partial(self.run_command, remote.address)
            remote.put = functools.partial(self.put_file, remote.address)
        self.cluster = by_kubeadm.Cluster(
            list, lambda remote: self.ran.append((remote.address[-1], "new server")),
            remotes[:3], remotes[3:], "registry:5000",
        )
        patch = mock.patch.dict("os.environ", FUNCTIONAL_KUBERNETES_MIRROR="http://mirror")
        patch.start()
        self.addCleanup(patch.stop)

    def run_command(self, address: str, command: str) -> str:
        subprocess.run(["bash", "-n"], input=command.encode(), check=True)
        self.ran.append((address[-1], command))
        return f"node-{address[-1]}\n" if command == "hostname" else f"v{BEFORE}.9\n"

    def put_file(self, address: str, file: Path, name: str) -> None:
        self.put[address[-1], name] = file.read_text()

    def kubeadm(self) -> list[tuple[str, str]]:
        words = [(address, command.split()) for address, command in self.ran]
        return [(address, w[2]) for address, w in words if w[:2] == ["sudo", "kubeadm"]]

    def test_masters_join_one_after_another_with_what_the_first_one_has(self) -> None:
        with configured(BEFORE):
            self.cluster.make()
        init, *masters = self.kubeadm()[:3]
        self.assertEqual(("0", "init"), init)
        self.assertEqual([("1", "join"), ("2", "join")], masters)
        self.assertEqual({("3", "join"), ("4", "join")}, {*self.kubeadm()[3:]})
        first, cluster, *_ = yaml.safe_load_all(self.put["0", "kubeadm.yaml"])
        self.assertEqual("registry:5000", cluster["imageRepository"])
        (token,) = (each["token"] for each in first["bootstrapTokens"])
        for address in "1234":
            joined = yaml.safe_load(self.put[address, "kubeadm.yaml"])
            self.assertEqual(token, joined["discovery"]["bootstrapToken"]["token"])
            key = {"certificateKey": first["certificateKey"]} if address in "12" else None
            self.assertEqual(key, joined.get("controlPlane"))
        network = self.put["0", "flannel.yaml"]
        self.assertEqual(3, network.count("image: registry:5000/flannel"))
        self.assertNotIn("@", network)
        commands = "\n".join(command for _, command in self.ran)
        self.assertNotIn(token, commands)
        self.assertNotIn(first["certificateKey"], commands)
        self.assertEqual(5, commands.count(f"PACKAGE_REPOSITORY=http://mirror/{BEFORE}/apt/ "))

    def test_one_node_after_another_is_upgraded(self) -> None:
        with configured(NEWEST):
            self.cluster.upgrade()
        self.assertEqual([(address, "upgrade") for address in "01234"], self.kubeadm())
        drains = [c.split("drain ")[1].split()[0] for _, c in self.ran if " drain " in c]
        self.assertEqual([f"node-{number}" for number in range(5)], drains)
        restarted = [address for address, c in self.ran if "-C kube-apiserver" in c]
        self.assertEqual([*"012"], restarted, "nothing may be asked of an API that is about to end")
        applied = [command for _, command in self.ran if "upgrade apply" in command]
        self.assertEqual(1, len(applied))
        self.assertIn(f"--yes v{BEFORE}.9 ", applied[0])

    def test_a_machine_leaves_before_its_successor_joins(self) -> None:
        with configured(NEWEST):
            for remote in (self.cluster.workers[0], self.cluster.masters[2]):
                self.ran.clear()
                self.cluster.heal(remote)
                address = remote.address[-1]
                joined = yaml.safe_load(self.put[address, "kubeadm.yaml"])
                is_master = remote in self.cluster.masters
                self.assertEqual(is_master, "controlPlane" in joined)
                certificates = [("0", "init")] if is_master else []
                expected = [(address, "reset"), ("0", "token"), *certificates, (address, "join")]
                self.assertEqual(expected, self.kubeadm())
                words = "|".join(command for _, command in self.ran)
                steps = ("drain node-", "kubeadm reset", "delete node node-", "new server", "join")
                self.assertEqual(sorted(map(words.index, steps)), [*map(words.index, steps)])


class MeterTest(unittest.TestCase):
    def setUp(self) -> None:
        self.counters: dict[str, dict[str, float]] = {}  # by server, then by container
        engine = mock.Mock()
        engine.api.containers = self.containers
        engine.api.stats = self.stats
        patch = mock.patch.object(cpu.engine, "connect", return_value=engine)
        patch.start()
        self.addCleanup(patch.stop)

    def containers(self, filters: Any) -> list[dict[str, Any]]:
        return [
            {"Id": container, "Labels": {SERVER_LABEL: server}}
            for server, counters in self.counters.items()
            for container in counters
        ]

    def stats(self, container: str, stream: bool, one_shot: bool) -> dict[str, Any]:
        (seconds,) = (c[container] for c in self.counters.values() if container in c)
        if seconds < 0:
            raise docker.errors.NotFound("it went")
        return {"cpu_stats": {"cpu_usage": {"total_usage": seconds * 1e9}}}

    def test_servers_that_stay_come_go_and_start_again(self) -> None:
        self.counters = {"stays": {"a": 10}, "goes": {"b": 5}, "other": {"c": 1}, "again": {"d": 9}}
        with Meter().running() as meter:
            self.counters["goes"]["b"] = 7
            meter._look()
            self.counters["goes"]["b"] = -1  # while it is listed
            meter._look()
            del self.counters["goes"]
            self.counters |= {"stays": {"a": 13}, "comes": {"e": 4}, "other": {"c": 50}}
            self.counters["again"]["d"] = 2
        servers = ("stays", "goes", "comes", "again", "unknown")
        self.assertEqual([3, 2, 4, 2, 0], [meter.used([server]) for server in servers])
        self.assertEqual(9, meter.used(["stays", "goes", "comes"]))


class CostsTest(unittest.TestCase):
    def test_the_critical_path_and_the_commands_of_both_parts_of_a_heal(self) -> None:
        def record(phase: str, node: str, start: float, end: float, commands: int) -> str:
            return json.dumps({
                "operation": "heal_end" if start > 99 else "heal_start", "vnf": "v",
                "phase": phase, "node": node, "start": start, "end": end, "outcome": "checked",
                "commands": commands,
            })

        traced = runs.parse("\n".join((
            record("connect", "a", 0, 1, 1), record("drain", "a", 2, 12, 5),
            record("connect", "b", 100, 101, 2), record("join", "b", 101, 131, 7),
            record("look", "c", 101, 105, 0),
        )), "trace")
        self.assertEqual((12 + 31, 11 + 31, 15), operations._costs(traced))
        self.assertEqual((None, None, None), operations._costs([]))
