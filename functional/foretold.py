"""A VNF whose operations are foretold by a dry run, and then compared with what was done."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tools.client.config import CHECKOUT, CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step


class ForetoldVnf(Vnf):
    """Each scale, heal, modification and change of the package is foretold."""

    def scale(self, kind: str, aspect: str, steps: int) -> dict[str, Any]:
        body = {"type": kind, "aspectId": aspect, "numberOfSteps": steps}
        return self._foretold("scale", body, lambda: super(ForetoldVnf, self).scale(
            kind, aspect, steps
        ))

    def heal(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._foretold("heal", body, lambda: super(ForetoldVnf, self).heal(body))

    def modify(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._foretold("modify", body, lambda: super(ForetoldVnf, self).modify(body))

    def change_package(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._foretold(
            "change-package", body, lambda: super(ForetoldVnf, self).change_package(body)
        )

    def _foretold(
        self, operation: str, body: dict[str, Any], carry_out: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Carry an operation out; what was refused before must not be completed.

        :raises AssertionError: when the operation did something else than was foretold
        """
        request = body if operation == "modify" else self._api.operation(body)
        with TemporaryDirectory() as folder:
            path, plan = Path(folder, "request.json"), Path(folder, "plan.json")
            path.write_text(json.dumps(request))
            words = [operation, "--vnf", self.id, "--api-version", self._api.version]
            before = self._known()
            with step(f"dry run of {operation} of {self.name}"):
                foretold = _run_tool(*words, "--json", str(path))
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
