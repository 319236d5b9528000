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

from tackerclient.common.exceptions import TackerClientException

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from tools.client import instances
from tools.client.api import V1, V2
from tools.client.errors import ClientError
from tools.client.lcm import Vnf
from tools.cluster import cli, login
from tools.dry_run.operations import Result
from tools.k8s_vnf.app import main

_SERVER = "af8aec3f-835c-4e61-8a35-c72d50b63e91"
_NODE = "worker-af8aec3f835c"


class Tacker:
    """Tacker's API with an instance, which notes the heals that it is asked for."""

    def __init__(self, version: str, *names: str) -> None:
        self.version, self.names = version, names
        self.healed: list[dict[str, Any]] = []
        self.state = "COMPLETED"

    def list_vnf_instances(self) -> list[dict[str, str]]:
        return [{"id": f"id-of-{name}", "vnfInstanceName": name} for name in self.names]

    def show_vnf_instance(self, vnf_id: str) -> dict[str, Any]:
        resource = {
            "id": "resource-1", "vduId": "workerNode", "computeResource": {"resourceId": _SERVER}
        }
        infos = [{"id": "vnfc-1", "vnfcResourceInfoId": "resource-1"}]
        return {"id": vnf_id, "instantiatedVnfInfo": {
            "vnfcResourceInfo": [resource], "vnfcInfo": infos
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
        logs = {"FUNCTIONAL_LOGS": str(self.folder), "OS_TACKER_API_VERSION": ""}
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
        for answer, healed in (("", 0), ("\n", 0), ("no\n", 0), ("y\n", 1)):
            status, said, _ = self.run_command("heal", "k8s", _NODE, answer=answer)
            self.assertEqual(0, status)
            self.assertIn("a dry run, nothing was changed", said)
            self.assertIn(f"Replace {_NODE} (VNFC vnfc-1)? [y/N]", said)
            self.assertEqual(healed, len(self.tackers["2"].healed), answer)
        (body,) = self.tackers["2"].healed
        self.assertEqual(["vnfc-1"], body["vnfcInstanceId"])
        self.assertIn("lcm-operation-user-data", body["additionalParams"])

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
        refusal = TackerClientException(message="another operation is PROCESSING")
        with mock.patch.object(self.tackers["2"], "heal_vnf_instance", side_effect=refusal):
            status, _, errors = self.run_command("heal", "k8s", _NODE, "--yes")
        self.assertEqual(1, status)
        self.assertIn("Tacker refuses the heal: another operation is PROCESSING", errors)

    def test_a_node_of_no_vnfc(self) -> None:
        status, _, errors = self.run_command("heal", "k8s", "worker-000000000000", "--yes")
        self.assertEqual(3, status)
        self.assertIn("has no VNFC whose node is worker-000000000000", errors)
        self.assertFalse(self.planned.called)


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
