"""A VNF whose operations are foretold by a dry run, and then compared with what was done."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tackerclient.v1_0.client import Client

from tools.client.api import Api
from tools.client.config import CHECKOUT, CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step


class ForetoldVnf(Vnf):
    """Each operation is foretold, but for its end."""

    csar: Path

    @classmethod
    def create(
        cls, client: Client, package: Package, name: str, api: Api | None = None
    ) -> "ForetoldVnf":
        made = super().create(client, package, name, api)
        assert isinstance(made, cls)
        made.csar = package.csar
        return made

    def instantiate(self, body: dict[str, Any]) -> dict[str, Any]:
        words = ["--package", str(self.csar)]
        request = self._api.instantiation(body)
        return self._foretold(
            "instantiate", words, request, lambda: super(ForetoldVnf, self).instantiate(body)
        )

    def scale(self, kind: str, aspect: str, steps: int) -> dict[str, Any]:
        body = {"type": kind, "aspectId": aspect, "numberOfSteps": steps}
        return self._foretold_of_vnf(
            "scale",
            self._api.operation(body),
            lambda: super(ForetoldVnf, self).scale(kind, aspect, steps),
        )

    def heal(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._foretold_of_vnf(
            "heal", self._api.operation(body), lambda: super(ForetoldVnf, self).heal(body)
        )

    def modify(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._foretold_of_vnf(
            "modify", body, lambda: super(ForetoldVnf, self).modify(body)
        )

    def change_package(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._foretold_of_vnf(
            "change-package",
            self._api.operation(body),
            lambda: super(ForetoldVnf, self).change_package(body),
        )

    def _foretold_of_vnf(
        self, operation: str, request: dict[str, Any], carry_out: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        return self._foretold(operation, ["--vnf", self.id], request, carry_out)

    def _foretold(
        self,
        operation: str,
        words: Sequence[str],
        request: dict[str, Any],
        carry_out: Callable[[], dict[str, Any]],
    ) -> dict[str, Any]:
        """Carry an operation out; what was refused before must not be completed.

        :param words: what names the VNF, or its package
        :raises AssertionError: when the operation did something else than was foretold
        """
        with TemporaryDirectory() as folder:
            path, plan = Path(folder, "request.json"), Path(folder, "plan.json")
            path.write_text(json.dumps(request))
            command = [operation, *words, "--api-version", self._api.version]
            before = self._known()
            with step(f"dry run of {operation} of {self.name}"):
                foretold = _run_tool(*command, "--json", str(path))
            assert self._known() == before, "the dry run has changed the VNF instance"
            plan.write_text(foretold.stdout)
            occurrence = carry_out()
            is_completed = occurrence["operationState"] == "COMPLETED"
            if foretold.returncode:
                log(f"the dry run: {foretold.stderr}")
                assert not is_completed, f"{operation} was foretold to be refused"
            elif is_completed:
                self._compare(plan, Path(folder, "trace.jsonl"))
        return occurrence

    def _known(self) -> Any:
        """What Tacker keeps of the instance."""
        shown = self.show()
        return shown.get("metadata"), shown.get("instantiatedVnfInfo")

    def _compare(self, plan: Path, trace: Path) -> None:
        if not CONFIG.show_trace:
            log("FUNCTIONAL_SHOW_TRACE is not set: the dry run is not compared")
            return
        command = f"{CONFIG.show_trace} {shlex.quote(self.id)}"
        shown = subprocess.run(command, shell=True, check=True, capture_output=True)  # ours
        trace.write_bytes(shown.stdout)
        seen = _run_tool("compare", str(plan), str(trace))
        log(f"the dry run beside what was done:\n{seen.stdout}{seen.stderr}")
        assert not seen.returncode, f"what was done is not what was foretold: {seen.stderr}"


def _run_tool(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tools.plan", *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=CHECKOUT)
