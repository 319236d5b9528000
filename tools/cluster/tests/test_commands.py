"""The commands on a cluster in Tacker: which requests they send, and what they print."""

import contextlib
import io
import json
import os
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from tackerclient.common.exceptions import ConnectionFailed, TackerClientException

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from tools.client import instances
from tools.client.api import V1, V2
from tools.client.errors import ClientError
from tools.client.lcm import Vnf
from tools.cluster import cli, login
from tools.cluster.status import Status
from tools.dry_run.operations import Result
from tools.k8s_vnf.app import main

_SERVER = "af8aec3f-835c-4e61-8a35-c72d50b63e91"
_NODE = "worker-af8aec3f835c"


def _resource(resource_id: str, vdu: str, server: str) -> dict[str, Any]:
    return {"id": resource_id, "vduId": vdu, "computeResource": {"resourceId": server}}


class Tacker:
    """Tacker's API with an instance, which notes the heals that it is asked for."""

    def __init__(self, version: str, *names: str) -> None:
        self.version, self.names = version, names
        self.healed: list[dict[str, Any]] = []
        self.state = "COMPLETED"
        self.resources = [_resource("resource-1", "workerNode", _SERVER)]
        self.resources.append(_resource("resource-2", "workerNode", _SERVER.replace("a", "b")))

    def list_vnf_instances(self) -> list[dict[str, str]]:
        return [{"id": f"id-of-{name}", "vnfInstanceName": name} for name in self.names]

    def show_vnf_instance(self, vnf_id: str) -> dict[str, Any]:
        if not self.resources:
            return {"id": vnf_id, "instantiationState": "NOT_INSTANTIATED"}
        infos = [
            {"id": resource["id"].replace("resource", "vnfc"), "vnfcResourceInfoId": resource["id"]}
            for resource in self.resources
        ]
        return {"id": vnf_id, "instantiationState": "INSTANTIATED", "instantiatedVnfInfo": {
            "vnfcResourceInfo": self.resources, "vnfcInfo": infos
        }}

    def heal_vnf_instance(self, vnf_id: str, body: dict[str, Any]) -> None:
        self.healed.append(body)

    def list_vnf_lcm_op_occs(self, filter: str) -> list[dict[str, str]]:
        return [{"id": "op-1", "operation": "HEAL", "startTime": ""} for _ in self.healed]

    def show_vnf_lcm_op_occs(self, op: str) -> dict[str, Any]:
        return {"id": op, "operationState": self.state, "error": {"detail": "no room"}}


class ClusterTest(unittest.TestCase):
    def setUp(self) -> None:
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.folder = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.tackers = {"1": Tacker("1", "old"), "2": Tacker("2", "k8s")}
        self.patch(cli, "cloud", mock.Mock())
        self.patch(instances, "tacker", lambda connection, version: self.tackers[version])
        logs = {"FUNCTIONAL_LOGS": str(self.folder), "OS_TACKER_API_VERSION": "1"}
        self.stack.enter_context(mock.patch.dict("os.environ", logs))

    def patch(self, where: Any, name: str, what: Any) -> Any:
        return self.stack.enter_context(mock.patch.object(where, name, what))

    def run_command(self, *words: str, answer: str = "") -> tuple[int, str, str]:
        out, errors = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors),
            mock.patch("sys.stdin", io.StringIO(answer)),
        ):
            status = main(words)
        return status, out.getvalue(), errors.getvalue()


class FindTest(ClusterTest):
    def test_the_version_that_has_the_instance(self) -> None:
        for name, version in (("old", "1"), ("id-of-k8s", "2")):
            for chosen in (None, version):
                found = instances.find(mock.Mock(), name, chosen)
                self.assertEqual(version, found.api.version)
                self.assertIs(self.tackers[version], found.client)

    def test_none_or_several(self) -> None:
        for name, version, words in (
            ("k8s", "1", "Tacker's v1 API has 0 VNF instances k8s$"),
            ("none", None, "Tacker's v1 and v2 API has 0 VNF instances none"),
        ):
            with self.assertRaisesRegex(ClientError, words):
                instances.find(mock.Mock(), name, version)
        self.tackers["1"].names = ("k8s",)
        with self.assertRaisesRegex(ClientError, "has 2 VNF instances k8s: id-of-k8s, id-of-k8s"):
            instances.find(mock.Mock(), "k8s")


class HealTest(ClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.planned = self.patch(
            cli.dry_run, "run_on", mock.Mock(return_value=Result("heal", "id-of-k8s"))
        )

    def test_only_a_yes_heals(self) -> None:
        for answer, healed in (("\n", 0), ("no\n", 0), ("y\n", 1)):
            status, said, _ = self.run_command("heal", "k8s", _NODE, answer=answer)
            self.assertEqual(0, status)
            self.assertIn("a dry run, nothing was changed", said)
            self.assertIn(f"Replace {_NODE} (VNFC vnfc-1)? [y/N]", said)
            self.assertEqual(healed, len(self.tackers["2"].healed), answer)
        (body,) = self.tackers["2"].healed
        self.assertEqual(["vnfc-1"], body["vnfcInstanceId"])
        self.assertIn("lcm-operation-user-data", body["additionalParams"])

    def test_nobody_answers(self) -> None:
        """A script does not take it for a heal that has been done."""
        for name in ("old", "k8s"):
            with self.assertRaisesRegex(SystemExit, "2"):
                self.run_command("heal", name, _NODE)
        self.assertEqual(([], []), (self.tackers["1"].healed, self.tackers["2"].healed))

    def test_v1_names_the_resource(self) -> None:
        status, said, _ = self.run_command("heal", "old", _NODE, "--yes")
        self.assertEqual(0, status)
        self.assertNotIn("[y/N]", said)
        self.assertEqual([{"vnfcInstanceId": ["resource-1"]}], self.tackers["1"].healed)

    def test_nothing_is_sent_if_the_dry_run_refuses(self) -> None:
        self.planned.side_effect = MgmtDriverError("no quorum")
        status, _, errors = self.run_command("heal", "k8s", _NODE, "--yes")
        self.assertEqual((1, []), (status, self.tackers["2"].healed))
        self.assertIn("error: the heal would be refused: no quorum", errors)

    def test_a_heal_that_fails_names_the_way_on(self) -> None:
        self.tackers["2"].state = "FAILED_TEMP"
        status, _, errors = self.run_command("heal", "k8s", _NODE, "--yes")
        self.assertEqual(1, status)
        self.assertIn("FAILED_TEMP: no room", errors)
        self.assertIn("openstack vnflcm op retry op-1", errors)

    def test_a_heal_that_tacker_refuses(self) -> None:
        refusal = TackerClientException(message="another operation is PROCESSING", status_code=409)
        with mock.patch.object(self.tackers["2"], "heal_vnf_instance", side_effect=refusal):
            status, _, errors = self.run_command("heal", "k8s", _NODE, "--yes")
        self.assertEqual(1, status)
        self.assertIn("Tacker refuses the heal: another operation is PROCESSING", errors)

    def test_tacker_goes_on_when_the_command_ends(self) -> None:
        broken = ConnectionFailed(reason="reset")
        for method, error, expected in (
            ("heal_vnf_instance", broken, 3),
            ("show_vnf_lcm_op_occs", broken, 3),
            ("show_vnf_lcm_op_occs", KeyboardInterrupt, 130),
        ):
            self.tackers["2"].healed.clear()
            with mock.patch.object(self.tackers["2"], method, side_effect=error):
                status, _, errors = self.run_command("heal", "k8s", _NODE, "--yes")
            self.assertEqual(expected, status)
            self.assertIn("may go on with the heal: k8s-vnf watch id-of-k8s follows", errors)
            self.assertNotIn("refuses", errors)

    def test_only_the_one_node_that_is_named_is_healed(self) -> None:
        """A request without a VNFC would heal the whole VNF, which deletes the cluster."""
        for version, name in (("1", "old"), ("2", "k8s")):
            tacker = self.tackers[version]
            (first, *others) = tacker.resources
            for node, resources in (
                ("worker-000000000000", [first, *others]),
                (_NODE.replace("worker", "master"), [first, *others]),
                (_NODE, others),
                (_NODE, [first, {**first, "id": "resource-3"}]),
                (_NODE, [{**first, "vduId": "masterNode"}]),
                (_NODE, [{**first, "id": ""}]),
                (_NODE, []),
            ):
                tacker.resources = resources
                status, _, errors = self.run_command("heal", name, node, "--yes")
                self.assertEqual((3, []), (status, tacker.healed), errors)
                self.assertRegex(errors, f"VNFCs whose node is {node}|{name} is not instantiated")
        self.assertFalse(self.planned.called)

    def test_a_vnfc_that_goes_while_the_user_is_asked(self) -> None:
        for version, name in (("1", "old"), ("2", "k8s")):
            tacker = self.tackers[version]
            first, other = tacker.resources
            for left in ([other], [{**first, "id": "resource-3"}, other]):
                tacker.resources = [first, other]

                def answer(_: str, tacker: Tacker = tacker, left: Any = left) -> str:
                    tacker.resources = left
                    return "y"

                with mock.patch("builtins.input", answer):
                    status, _, errors = self.run_command("heal", name, _NODE)
                self.assertEqual((3, []), (status, tacker.healed))
                self.assertRegex(errors, "0 VNFCs whose node|another VNFC than before")

    def test_a_vnf_of_no_or_two_instances(self) -> None:
        self.tackers["2"].names = ("old", "same", "same")
        for name in ("none", "old", "same"):
            status, _, errors = self.run_command("heal", name, _NODE, "--yes")
            self.assertEqual(3, status)
            self.assertRegex(errors, f"has [02] VNF instances {name}")
        self.assertEqual(([], []), (self.tackers["1"].healed, self.tackers["2"].healed))

    def test_another_vdu_has_the_control_plane(self) -> None:
        node = _NODE.replace("worker", "master")
        status, _, _ = self.run_command("heal", "k8s", node, "--yes", "--vdu", "workerNode")
        self.assertEqual((0, 1), (status, len(self.tackers["2"].healed)))
        status_of = Status("k 8s", {node: "vnfc-1"}, master="workerNode")
        status_of.add_broken(node, "a fault")
        self.assertEqual([f"k8s-vnf heal --vdu workerNode 'k 8s' {node}"], status_of.heals)


class LoginTest(ClusterTest):
    """Commands that log in to the machines, whose files are given."""

    def setUp(self) -> None:
        super().setUp()
        self.admin = "clusters: []\n"
        node = Node("vnfc", "masterNode", _SERVER, {"SSH": "192.0.2.1"})
        session: Any = mock.Mock()
        session.run.side_effect = lambda argv, **_: mock.Mock(stdout=self.admin)

        @contextlib.contextmanager
        def to_masters(*_: Any) -> Iterator[list[Host]]:
            yield [Host(node, session)]

        self.patch(login.Login, "__init__", lambda *_: None)
        self.patch(login.Login, "to_masters", to_masters)

    def test_only_its_owner_reads_a_kubeconfig(self) -> None:
        path = self.folder / "made/admin.conf"
        status, said, _ = self.run_command("kubeconfig", "k8s", str(path))
        self.assertEqual((0, "clusters: []\n"), (status, path.read_text()))
        self.assertEqual(0o600, path.stat().st_mode & 0o777)
        self.assertIn(f"kubectl --kubeconfig {path}", said)
        with self.assertRaisesRegex(SystemExit, "2"):
            self.run_command("kubeconfig", "k8s", str(path))
        self.assertEqual("clusters: []\n", path.read_text())
        self.addCleanup(os.chdir, Path.cwd())
        os.chdir(self.folder)
        self.assertEqual(0, self.run_command("kubeconfig", "k8s")[0])
        self.assertTrue((self.folder / "k8s.kubeconfig").exists())

    def test_no_node_has_a_kubeconfig(self) -> None:
        self.admin = ""
        path = self.folder / "admin.conf"
        status, _, errors = self.run_command("kubeconfig", "k8s", str(path))
        self.assertEqual((3, False), (status, path.exists()))
        self.assertIn("no control-plane node gives /etc/kubernetes/admin.conf", errors)

    def test_status_as_json(self) -> None:
        def look_at(status: Any, masters: Any, now: float) -> None:
            status.add_broken(_NODE, "a fault")

        self.patch(cli, "look_at", look_at)
        status, said, _ = self.run_command("status", "k8s", "-o", "json")
        self.assertEqual(1, status)
        self.assertEqual([f"k8s-vnf heal k8s {_NODE}"], json.loads(said)["heal"])
        with self.assertRaisesRegex(SystemExit, "2"):
            self.run_command("status", "k8s", "-o", "json", "--watch")

    def test_a_watch_outlives_an_error(self) -> None:
        self.patch(cli, "look_at", mock.Mock(side_effect=[OSError("Keystone"), None]))
        pause = self.patch(cli.time, "sleep", mock.Mock(side_effect=[None, KeyboardInterrupt]))
        status, said, _ = self.run_command("status", "k8s", "--watch")
        self.assertEqual((0, 2), (status, pause.call_count))
        self.assertIn("the cluster cannot be checked: Keystone", said)
        self.assertIn("members of etcd:", said)


class ApiTest(unittest.TestCase):
    def test_the_instance_knows_its_api(self) -> None:
        for api in (V1(), V2()):
            (vnf,) = Vnf.all(mock.Mock(list_vnf_instances=lambda: [{"id": "1"}]), api)
            self.assertIs(api, vnf.api)
