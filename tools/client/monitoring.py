"""The cloud's Prometheus, and the tool that tells it the machines of clusters."""

import contextlib
import subprocess
import sys
from collections.abc import Collection, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from tools.client import wait
from tools.client.config import CHECKOUT, CONFIG
from tools.client.errors import ClientError
from tools.client.log import step
from tools.client.web import ask

_TOOL = (sys.executable, "-m", "tools.k8s_vnf", "monitoring", "--all")


class Prometheus:
    """The state of VNF instances as Prometheus tells it.

    :param url: such as http://192.0.2.1:9090
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._session = requests.Session()
        # Prometheus starts when it has its files, and answers 503 until it has read what it keeps.
        patience = Retry(7, backoff_factor=0.5, status_forcelist=[503])
        self._session.mount(self._url, HTTPAdapter(max_retries=patience))

    def alerts(self, vnf_id: str, function: str) -> list[dict[str, Any]]:
        """The firing alerts of a VNF that ask Tacker for a function: auto_heal or auto_scale."""
        wanted = {"vnf_instance_id": vnf_id, "function_type": function}
        return [
            alert
            for alert in self._get("alerts")["alerts"]
            if alert["state"] == "firing" and alert["labels"].items() >= wanted.items()
        ]

    def up(self, vnf_id: str) -> dict[str, bool]:
        """Whether the machines of a VNF answer, by node name."""
        found = self._query(f'up{{vnf_instance_id="{vnf_id}"}}')
        return {sample["metric"]["node"]: sample["value"][1] == "1" for sample in found}

    def busy_workers(self, vnf_id: str) -> float:
        """The share of the workers' CPUs that is busy (0 to 1) on average; -1 if not known."""
        found = self._query(f'avg(k8s_vnf:worker_cpu{{vnf_instance_id="{vnf_id}"}})')
        return float(found[0]["value"][1]) if found else -1.0

    def await_calm(self, vnf_id: str, nodes: Collection[str], limit: float) -> None:
        """Wait until Prometheus reaches these nodes alone, and no alert asks for a heal any more.

        :param limit: seconds
        :raises TimeoutError: naming what was seen last
        """

        def look() -> tuple[dict[str, bool], list[dict[str, Any]]] | str:
            try:
                return self.up(vnf_id), self.alerts(vnf_id, "auto_heal")
            except ClientError as error:  # Prometheus starts once its files are written
                return str(error)

        calm: tuple[dict[str, bool], list[dict[str, Any]]] = (dict.fromkeys(nodes, True), [])
        what = f"{len(nodes)} targets of Prometheus, without an alert"
        with step(f"wait for {what}"):
            wait.until(look, lambda seen: seen == calm, limit, what)

    def _query(self, expression: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._get("query", query=expression)["result"]
        return found

    def _get(self, path: str, **params: str) -> Any:
        return ask(self._session, "GET", f"{self._url}/api/v1/{path}", params=params).json()["data"]


def send_alert(tacker: str, vnf_id: str, vnfc_id: str) -> None:
    """Ask Tacker for the heal of a VNFC, as Alertmanager does.

    :param tacker: URL of Tacker
    :param vnfc_id: id in vnfcInfo
    """
    labels = {
        "receiver_type": "tacker", "function_type": "auto_heal",
        "vnf_instance_id": vnf_id, "vnfc_info_id": vnfc_id,
    }
    now = datetime.now(timezone.utc).isoformat()
    alert = {
        "status": "firing", "labels": labels, "annotations": {}, "startsAt": now,
        "fingerprint": "0" * 16,
    }
    url = f"{tacker.rstrip('/')}/alert/auto_healing"
    ask(requests.Session(), "POST", url, json={"alerts": [alert]})


def why_missing() -> str:
    """Name the variable that is not set, if the cloud has no monitoring; empty if it has."""
    for name, value in (
        ("FUNCTIONAL_MONITORING", CONFIG.monitoring), ("FUNCTIONAL_PROMETHEUS", CONFIG.prometheus)
    ):
        if not value:
            return f"{name} is not set: no Prometheus watches the machines"
    return ""


def write_files(folder: Path) -> None:
    """Write rules and configurations as they are in the checkout, and the present targets."""
    with step("write the files for Prometheus"):
        ran = subprocess.run(
            [*_TOOL, "--replace", str(folder)],
            cwd=CHECKOUT, check=False, capture_output=True, text=True,
        )
    if ran.returncode:
        raise ClientError(f"tools.monitoring: {ran.stderr}")


@contextlib.contextmanager
def kept_up_to_date(folder: Path) -> Iterator[None]:
    """Let the tool keep the targets up to date meanwhile, as an operator does.

    :raises ClientError: if the tool has ended by itself; the error has the end of its output
    """
    CONFIG.logs.mkdir(parents=True, exist_ok=True)
    output = CONFIG.logs / "monitoring.log"
    with (
        output.open("a") as file,
        subprocess.Popen(
            [*_TOOL, "--watch", str(folder)], cwd=CHECKOUT, stdout=file, stderr=subprocess.STDOUT
        ) as tool,
    ):
        try:
            yield
            if tool.poll() is not None:
                said = output.read_text()[-500:]
                raise ClientError(f"k8s-vnf monitoring ended with status {tool.returncode}: {said}")
        finally:
            tool.terminate()  # a job of a shell's background ignores SIGINT, and so do its children
