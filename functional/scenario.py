"""The base of every scenario: the cloud's APIs, packages and VNFs, and their cleanup."""

import contextlib
import uuid
from pathlib import Path
from typing import Any

import testtools

from tools.client import stacks
from tools.client.api import V1, Api
from tools.client.config import CONFIG, cloud, tacker
from tools.client.lcm import Package, Vnf
from tools.client.log import log
from tools.client.machines import Remote


class Scenario(testtools.TestCase):
    """A test on a real cloud; what it creates is removed at its end, also when it fails.

    ``api`` is the version of Tacker's API that it uses.
    """

    api: Api = V1()

    def setUp(self) -> None:
        super().setUp()
        self.cloud = cloud()
        self.tacker = tacker(self.cloud, self.api.version)
        self.vnfs: list[Vnf] = []
        self.name = self.id().rpartition(".")[2]
        # Before the cleanup, while the machines are still there.
        self.addOnException(lambda _: self.save_journals())
        log(f"=== {self.name}")

    def save_journals(self) -> None:
        """Write the journals of the VNFs' machines into the logs folder."""
        for vnf in self.vnfs:
            for address in stacks.addresses(self.cloud, vnf.id):
                path = CONFIG.logs / f"{self.name}-{address}.log"
                with contextlib.suppress(Exception):
                    path.write_text(Remote(address).run("sudo journalctl --no-pager"))
                    log(f"journal of {address}: {path}")

    def enter(self, context: Any) -> Any:
        """Enter a context manager, which the cleanup leaves; returns its value."""
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def onboard_csar(self, csar: Path) -> Package:
        package = Package(self.tacker, csar)
        self.addCleanup(package.delete)
        return package

    def create_vnf(self, package: Package) -> Vnf:
        name = f"scenario-{uuid.uuid4().hex[:6]}"
        vnf = Vnf.create(self.tacker, package, name, self.api)
        self.vnfs.append(vnf)
        self.addCleanup(vnf.remove)
        return vnf

    def assert_completed(self, occurrence: dict[str, Any]) -> None:
        detail = occurrence.get("error", {}).get("detail", "")
        self.assertEqual("COMPLETED", occurrence["operationState"], detail)

    def assert_failed(self, occurrence: dict[str, Any], *words: str) -> None:
        """The operation is FAILED_TEMP, and its error has the words."""
        detail = occurrence.get("error", {}).get("detail", "")
        self.assertEqual("FAILED_TEMP", occurrence["operationState"], detail)
        log(f"FAILED_TEMP as expected, error detail: {detail}")
        for word in words:
            self.assertIn(word, detail)
        self.assertNotIn("Plänted", detail)  # of a password, see test_private_registry
