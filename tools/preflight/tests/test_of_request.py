"""What a cloud lacks for a request, by the VNF package."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from tools.client.api import V2
from tools.client.config import CHECKOUT
from tools.k8s_vnf.app import main
from tools.preflight import check_cli, of_request
from tools.preflight.tests.clouds import FakeCloud, vim

_PACKAGES, _REQUESTS = CHECKOUT / "vnf_packages", CHECKOUT / "functional/requests"


class RequestTest(unittest.TestCase):
    def setUp(self) -> None:
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.path = Path(self.stack.enter_context(tempfile.TemporaryDirectory()), "request.json")
        self.body = json.loads((_REQUESTS / "kubernetes/complex.json").read_text())
        self.cloud, self.vims = FakeCloud(), [vim()]
        client = mock.Mock(list_vims=lambda: {"vims": self.vims})
        for where, name, what in (
            (of_request, "tacker", client), (check_cli, "cloud", self.cloud)
        ):
            self.stack.enter_context(mock.patch.object(where, name, return_value=what))

    def check(self, *words: str, package: str = "kubernetes") -> tuple[int, str, str]:
        self.path.write_text(json.dumps(self.body))
        command = ("check", str(self.path), "--package", str(_PACKAGES / package), *words)
        out, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            status = main(command)
        return status, out.getvalue(), errors.getvalue()

    def assert_missing(self, *texts: str) -> None:
        """One thing is missing, and told with these texts."""
        status, said, errors = self.check()
        self.assertEqual((1, ""), (status, errors))
        self.assertIn("the cloud lacks 1 thing:", said)
        for text in texts:
            self.assertIn(text, said)

    def test_nothing_is_missing(self) -> None:
        self.assertEqual((0, "the cloud has what the request needs\n", ""), self.check())

    def test_of_the_v2_api(self) -> None:
        self.body["vimConnectionInfo"][0]["vimId"] = "v1"
        self.body = V2().instantiation(self.body)
        status, said, errors = self.check(package="kubernetes_v2")
        self.assertEqual((0, ""), (status, errors), said)
        self.body["vimConnectionInfo"]["vim1"]["vimId"] = "other"
        self.assertIn("Tacker has no VIM other", self.check(package="kubernetes_v2")[1])
        login = {"interfaceInfo": {"endpoint": "x"}, "accessInfo": {"username": "x"}}
        self.body["vimConnectionInfo"]["vim1"] |= login
        self.assertEqual(0, self.check(package="kubernetes_v2")[0])

    def test_images_and_flavors_of_the_package(self) -> None:
        flavor = self.cloud.flavors.pop("k8s.worker")
        self.assert_missing("there is no flavor k8s.worker", "flavor create --vcpus 1 --ram 1024")
        self.cloud.flavors["k8s.worker"] = flavor
        self.cloud.images["node-debian-13"].status = "queued"
        self.assert_missing("there is no active image node-debian-13", "k8s-vnf image build")

    def test_the_quota_for_the_machines_of_the_level(self) -> None:
        self.cloud.instances_used = 15
        self.assertEqual(0, self.check()[0])  # five machines
        self.body["instantiationLevelId"] = "instantiation_level_2"
        self.assert_missing("instances 20, 15 used, 9 needed", "--instances 24")
        self.body["instantiationLevelId"] = "none"
        status, _, errors = self.check()
        self.assertEqual(1, status)
        self.assertIn("refused: instantiationLevelId: ", errors)

    def test_ports_of_all_cps(self) -> None:
        self.cloud.ports_used = 95
        self.assert_missing("ports 100, 95 used, 6 needed")  # with the virtual IP

    def test_networks_of_the_request(self) -> None:
        self.body["extVirtualLinks"][0]["resourceId"] = "elsewhere"
        self.assert_missing("there is no network elsewhere")
        self.body["extVirtualLinks"][0]["resourceId"] = "public"
        self.cloud.subnets["n1"].clear()
        self.assert_missing("the network public has no subnet with IPv4")

    def test_vims(self) -> None:
        self.vims[0] = vim(status="ERROR")
        self.assert_missing("the default VIM, VIM0, is ERROR")
        self.body["vimConnectionInfo"][0]["vimId"] = "v1"
        self.assert_missing("the VIM, VIM0, is ERROR")
        self.body["vimConnectionInfo"][0]["vimId"] = "other"
        self.assert_missing("Tacker has no VIM other", "openstack vim list")

    def test_json(self) -> None:
        self.vims.clear()
        status, said, _ = self.check("-o", "json")
        self.assertEqual(1, status)
        (missing,) = json.loads(said)["missing"]
        self.assertEqual("Tacker has no default VIM", missing["what"])

    def test_a_request_that_is_wrong_asks_no_cloud(self) -> None:
        self.body["vimConnectionInfo"] = "nonsense"
        status, said, errors = self.check()
        self.assertEqual((1, ""), (status, said))
        self.assertIn("refused: vimConnectionInfo: must be a list (v1 API) or an object", errors)


class SizesTest(unittest.TestCase):
    def test_units(self) -> None:
        sizes: Any = {"2 GB": 2048, "512 MB": 512, "1.5 GiB": 1536, "2048 kB": 2, None: 0, "x": 0}
        for text, mib in sizes.items():
            self.assertEqual(mib, of_request._mib(text), text)

    def test_volumes_of_the_storage_server(self) -> None:
        nodes = {
            "server": {"requirements": [{"virtual_storage": "disk"}]},
            "disk": {"properties": {"virtual_block_storage_data": {"size_of_storage": "600 GB"}}},
        }
        vnfd = {"topology_template": {"node_templates": nodes}}
        needs = of_request.Needs(vnfd, {"server": 2}, {})
        connection: Any = FakeCloud()
        (missing,) = needs._volumes(connection)
        self.assertIn("gigabytes 1000, 0 used, 1200 needed", str(missing))
