"""What every scenario has: the cloud, packages that are built once, and cleanup."""

import contextlib
import uuid
from pathlib import Path
from typing import Any

import testtools

from tools.client import stacks
from tools.client.api import V1, Api
from tools.client.config import CONFIG, cloud, tacker
from tools.client.lcm import Package, Vnf
from tools.client.log import say
from tools.client.machines import Remote


class Scenario(testtools.TestCase):
    """A story on a real cloud; what it makes is removed at its end, also when it fails.

    ``api`` is the version of Tacker's API that it is told through.
    """

    api: Api = V1()

    def setUp(self) -> None:
        super().setUp()
        self.cloud = cloud()
        self.tacker = tacker(self.cloud, self.api.version)
        self.vnfs: list[Vnf] = []
        self.name = self.id().rpartition(".")[2]
        # Before anything is cleaned up, so that there is something to look at.
        self.addOnException(lambda _: self.keep_logs())
        say(f"=== {self.name}")

    def keep_logs(self) -> None:
        """Write the journals of the VNFs' machines into the logs folder."""
        for vnf in self.vnfs:
            for address in stacks.addresses(self.cloud, vnf.id):
                path = CONFIG.logs / f"{self.name}-{address}.log"
                with contextlib.suppress(Exception):
                    path.write_text(Remote(address).run("sudo journalctl --no-pager"))
                    say(f"journal of {address}: {path}")

    def enter(self, context: Any) -> Any:
        """The value of a context manager that is left when the scenario ends."""
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def package(self, csar: Path) -> Package:
        package = Package(self.tacker, csar)
        self.addCleanup(package.delete)
        return package

    def vnf(self, package: Package) -> Vnf:
        name = f"scenario-{uuid.uuid4().hex[:6]}"
        vnf = Vnf.create(self.tacker, package, name, self.api)
        self.vnfs.append(vnf)
        self.addCleanup(vnf.remove)
        return vnf

    def assert_completed(self, occurrence: dict[str, Any]) -> None:
        detail = occurrence.get("error", {}).get("detail", "")
        self.assertEqual("COMPLETED", occurrence["operationState"], detail)

    def assert_failed(self, occurrence: dict[str, Any], *words: str) -> None:
        """The operation failed for now, and its error names the cause."""
        detail = occurrence.get("error", {}).get("detail", "")
        self.assertEqual("FAILED_TEMP", occurrence["operationState"], detail)
        say(f"FAILED_TEMP as expected, error detail: {detail}")
        for word in words:
            self.assertIn(word, detail)
        self.assertNotIn("Plänted", detail)
