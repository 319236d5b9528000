"""The base of every scenario: the cloud's APIs, packages and VNFs, and their cleanup."""

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import testtools

from tools.client import hosts, stacks
from tools.client.api import V1, Api
from tools.client.config import CONFIG, cloud, tacker
from tools.client.lcm import Package, Vnf
from tools.client.log import log
from tools.client.machines import Remote
from tools.client.names import unique


class Scenario(testtools.TestCase):
    """A test on a real cloud; what it creates is removed at its end, also when it fails.

    ``api`` is the version of Tacker's API that it uses, ``kind`` the class of its VNFs.
    """

    api: Api = V1()
    kind: type[Vnf] = Vnf

    def setUp(self) -> None:
        super().setUp()
        self.cloud = cloud()
        self.tacker = tacker(self.cloud, self.api.version)
        self.vnfs: list[Vnf] = []
        self.passed = True
        self.interrupted = False
        self.name = self.id().rpartition(".")[2]
        # The first that is added is the last that runs.
        self.addCleanup(self.end)
        self.addOnException(lambda raised: self.note_exception(raised[1]))
        log(f"=== {self.name}")

    def note_exception(self, error: BaseException | None) -> None:
        """Save what is known of the machines at a failure, while they are there.

        The cleanup may raise more, which is not a reason to save it again.
        """
        first, self.passed = self.passed, False
        if isinstance(error, KeyboardInterrupt):
            self.interrupted = True
        elif first:
            self.save_logs_of_machines()

    def end(self) -> None:
        """Note that the scenario passed: a run that resumes another leaves it out.

        :raises KeyboardInterrupt: once more after Ctrl-C. Of several exceptions testtools raises
            the last, and the cleanup fails where Tacker works on the VNF; the next scenario began
        """
        if self.interrupted:
            raise KeyboardInterrupt
        if self.passed and CONFIG.passed:
            with Path(CONFIG.passed).open("a") as file:
                file.write(f"{self.id()}\n")

    def save_logs_of_machines(self) -> None:
        """Write consoles and journals of the VNFs' machines into the logs folder.

        A machine without a login has a console. No error here hides the first one.
        """
        for vnf in self.vnfs:
            with contextlib.suppress(Exception):
                for server in stacks.servers(self.cloud, vnf.id):
                    self.save(f"{server.name}-console", partial(self.console, server.id))
            with contextlib.suppress(Exception):
                for address in stacks.addresses(self.cloud, vnf.id):
                    self.save(f"{address}-journal", Remote(address).journal)

    def console(self, server_id: str) -> str:
        return str(self.cloud.compute.get_server_console_output(server_id)["output"])

    def save(self, name: str, read: Callable[[], str]) -> None:
        """Write into a file of the logs folder what is read, if it can be read."""
        path = CONFIG.logs / f"{self.name}-{name}.log"
        try:
            path.write_text(read())
        except Exception as error:
            log(f"no {name}: {type(error).__name__}: {error}")
        else:
            log(f"{name}: {path}")

    def skip_with_fewer_hosts(self, needed: int) -> int:
        """Skip the scenario on a cloud with fewer compute hosts; returns their number."""
        found = hosts.count(self.cloud, CONFIG.node_image)
        if found < needed:
            self.skipTest(f"the cloud has {found} compute hosts, the scenario needs {needed}")
        return found

    def enter(self, context: Any) -> Any:
        """Enter a context manager, which the cleanup leaves; returns its value."""
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def onboard_csar(self, csar: Path) -> Package:
        package = Package(self.tacker, csar)
        self.addCleanup(package.delete)
        return package

    def create_vnf(self, package: Package, name: str = "") -> Vnf:
        vnf = self.kind.create(self.tacker, package, name or unique("scenario"), self.api)
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
        # Through v2 it is the literal of Python in which Tacker shows a script's error.
        shown = detail.replace("\\'", "'")
        for word in words:
            self.assertIn(word, shown)
        self.assertNotIn("Plänted", detail)  # of a password, see full/test_registry
