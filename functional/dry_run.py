"""A VNF whose operations are predicted by a dry run, and then compared with what was done."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tackerclient.v1_0.client import Client

from functional import shell
from tools.client.api import Api
from tools.client.config import CHECKOUT, CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step

_REFUSED = 1  # the exit status; others tell of no prediction, such as a machine that is silent


class DryRunVnf(Vnf):
    """Each operation is predicted, but for its end."""

    csar: Path

    @classmethod
    def create(
        cls, client: Client, package: Package, name: str, api: Api | None = None
    ) -> "DryRunVnf":
        made = super().create(client, package, name, api)
        assert isinstance(made, cls)
        made.csar = package.csar
        return made

    def instantiate(self, body: dict[str, Any]) -> dict[str, Any]:
        words = ["--package", str(self.csar)]
        request = self.api.instantiation(body)
        return self._predicted(
            "instantiate", words, request, lambda: super(DryRunVnf, self).instantiate(body)
        )

    def scale(self, kind: str, aspect: str, steps: int) -> dict[str, Any]:
        body = {"type": kind, "aspectId": aspect, "numberOfSteps": steps}
        return self._predicted_of_vnf(
            "scale",
            self.api.operation(body),
            lambda: super(DryRunVnf, self).scale(kind, aspect, steps),
        )

    def heal(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._predicted_of_vnf(
            "heal", self.api.operation(body), lambda: super(DryRunVnf, self).heal(body)
        )

    def modify(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._predicted_of_vnf(
            "modify", body, lambda: super(DryRunVnf, self).modify(body)
        )

    def retry_modify(self, failed: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        """Retry a modification, which is predicted from where the attempt has ended."""
        return self._predicted_of_vnf("modify", body, lambda: self.retry(failed))

    def change_package(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._predicted_of_vnf(
            "change-package",
            self.api.operation(body),
            lambda: super(DryRunVnf, self).change_package(body),
        )

    def _predicted_of_vnf(
        self, operation: str, request: dict[str, Any], carry_out: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        return self._predicted(operation, ["--vnf", self.id], request, carry_out)

    def _predicted(
        self,
        operation: str,
        words: Sequence[str],
        request: dict[str, Any],
        carry_out: Callable[[], dict[str, Any]],
    ) -> dict[str, Any]:
        """Carry an operation out; what was refused before must not be completed.

        :param words: what names the VNF, or its package
        :raises AssertionError: when the operation did something else than was predicted
        """
        with TemporaryDirectory() as folder:
            path, report = Path(folder, "request.json"), Path(folder, "report.json")
            path.write_text(json.dumps(request))
            command = [operation, *words, "--api", self.api.version]
            before = self._known()
            with step(f"dry run of {operation} of {self.name}"):
                predicted = _run_tool(*command, "-o", "json", str(path))
            assert self._known() == before, "the dry run has changed the VNF instance"
            words = f"status {predicted.returncode}: {predicted.stderr}"
            assert predicted.returncode in (0, _REFUSED), f"no dry run of {operation}: {words}"
            report.write_text(predicted.stdout)
            occurrence = carry_out()
            is_completed = occurrence["operationState"] == "COMPLETED"
            if predicted.returncode == _REFUSED:
                log(f"the dry run: {predicted.stderr}")
                assert not is_completed, f"{operation} was predicted to be refused"
            elif is_completed:
                self._compare(report, Path(folder, "trace.jsonl"))
        return occurrence

    def _known(self) -> Any:
        """What Tacker keeps of the instance."""
        shown = self.show()
        return shown.get("metadata"), shown.get("instantiatedVnfInfo")

    def _compare(self, report: Path, trace: Path) -> None:
        if not CONFIG.show_trace:
            log("FUNCTIONAL_SHOW_TRACE is not set: the dry run is not compared")
            return
        trace.write_text(shell.output(f"{CONFIG.show_trace} {shlex.quote(self.id)}"))
        seen = _run_tool("compare", str(report), str(trace))
        log(f"the dry run beside what was done:\n{seen.stdout}{seen.stderr}")
        assert not seen.returncode, f"what was done is not what was predicted: {seen.stderr}"


def _run_tool(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tools.k8s_vnf", "plan", *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, cwd=CHECKOUT)
