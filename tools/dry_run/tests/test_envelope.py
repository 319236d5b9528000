"""The members of requests around the drivers' parameters."""

import copy
import json
import unittest
from typing import Any

from mgmt_drivers.errors import ParameterError
from tools.client.api import V2
from tools.client.config import CHECKOUT
from tools.dry_run.envelope import check

_REQUESTS = CHECKOUT / "functional/requests"


class EnvelopeTest(unittest.TestCase):
    def setUp(self) -> None:
        self.v1 = json.loads((_REQUESTS / "kubernetes/complex.json").read_text())
        for connection in self.v1["vimConnectionInfo"]:
            connection["vimId"] = "vim"
        for link in self.v1["extVirtualLinks"]:
            link["resourceId"] = "network"
        self.v2 = V2().instantiation(copy.deepcopy(self.v1))

    def errors(self, operation: str, body: Any, version: str | None = None) -> list[str]:
        with self.assertRaises(ParameterError) as caught:
            check(operation, body, version)
        return [*caught.exception.errors]

    def test_the_version_is_that_of_the_request(self) -> None:
        for body, version in ((self.v1, "1"), (self.v2, "2")):
            for chosen in (None, version):
                self.assertEqual(version, check("instantiate", body, chosen))
        self.assertEqual("2", check("heal", {"vnfcInstanceId": ["x"]}, "2"))

    def test_a_request_of_the_other_version(self) -> None:
        path = "extVirtualLinks[0].extCps[0].cpConfig"
        for body, found, wanted in ((self.v1, "1", "2"), (self.v2, "2", "1")):
            errors = self.errors("instantiate", body, wanted)
            for name in ("vimConnectionInfo", path):
                words = f"{name}: is written as Tacker's v{found} API has it, and the request is "
                self.assertIn(f"{words}for v{wanted}", errors)
        mixed = {**self.v1, "vimConnectionInfo": self.v2["vimConnectionInfo"]}
        errors = self.errors("instantiate", mixed)
        self.assertIn(f"{path}: is written as Tacker's v1", " ".join(errors))

    def test_all_errors_are_told_with_their_paths(self) -> None:
        errors = self.errors("instantiate", {"vimConnectionInfo": "nonsense", "flavorId": "x"})
        self.assertEqual(
            ["flavorId", "vimConnectionInfo", "flavourId", "extVirtualLinks"],
            [error.partition(":")[0] for error in errors],
        )
        link = self.v1["extVirtualLinks"][0]
        link["resourceId"], link["extCps"][0]["cpdId"] = "", None
        self.assertEqual(
            ["extVirtualLinks[0].resourceId: must be a text",
             "extVirtualLinks[0].extCps[0].cpdId: missing"],
            self.errors("instantiate", self.v1),
        )

    def test_members_of_each_operation(self) -> None:
        self.assertIn("vnfcInstanceIds: unknown", self.errors("heal", {"vnfcInstanceIds": []})[0])
        self.assertEqual("1", check("terminate", {}, None))
        self.assertIn("must be an obj", self.errors("heal", {"additionalParams": []})[0])

    def test_requests_of_the_scenarios_are_right(self) -> None:
        for path in _REQUESTS.rglob("*.json"):
            body = json.loads(path.read_text())
            if "flavourId" not in body:
                continue
            for link in body.get("extVirtualLinks", ()):
                link["resourceId"] = link["resourceId"] or "network"
            with self.subTest(path.name):
                check("instantiate", body, None)
