"""Objects that are written into a cluster all the time, to see that none is lost."""

import base64
import contextlib
import itertools
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests

from tools.client import vim_rights, wait
from tools.client.errors import ClientError
from tools.client.log import log
from tools.client.machines import KUBECTL, Remote
from tools.client.names import unique
from tools.client.web import ask

_READ_ACCOUNT = f"{KUBECTL} --namespace kube-system get secret tacker-vim --output json"
_PERIOD = 0.5  # seconds between two objects
_LIMIT = 5.0  # seconds for an answer


class KeptObjects:
    """ConfigMaps of the namespace ``default``, and the nodes, through the API of a cluster.

    :param url: of the API
    :param master: a control-plane node, from which the service account of the VIM is read
    """

    def __init__(self, url: str, master: Remote) -> None:
        vim_rights.extend(master)
        secret = json.loads(master.run(_READ_ACCOUNT))["data"]
        self._url, self._label = url, unique("kept")
        self._folder = tempfile.TemporaryDirectory()
        self._ca = Path(self._folder.name, "ca.crt")
        self._ca.write_bytes(base64.b64decode(secret["ca.crt"]))
        self._authorization = f"Bearer {base64.b64decode(secret['token']).decode()}"
        self._written: set[str] = set()
        self._numbers = itertools.count()

    @property
    def written(self) -> int:
        """How many objects the API has acknowledged."""
        return len(self._written)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Write two objects a second meanwhile."""
        with wait.meanwhile(self._write, _PERIOD):
            yield

    def _write(self) -> None:
        name = f"{self._label}-{next(self._numbers)}"
        # A request without an answer may have written; it is not counted.
        with contextlib.suppress(requests.RequestException), self._session() as session:
            body = {"metadata": {"name": name, "labels": {"kept": self._label}}}
            if session.post(self._maps, json=body, timeout=_LIMIT).ok:
                self._written.add(name)

    def lost(self) -> set[str]:
        """Names of the objects that the API has acknowledged, and does not have.

        :raises ClientError: if the API does not answer
        """
        listed = self._list(self._maps, labelSelector=f"kept={self._label}")
        missing = self._written - {item["metadata"]["name"] for item in listed}
        log(f"{len(missing)} of {self.written} objects that were written meanwhile are lost")
        return missing

    def try_lost(self) -> set[str] | None:
        """As :meth:`lost`; None if the API does not answer."""
        try:
            return self.lost()
        except ClientError as error:
            log(f"the objects: {error}")
            return None

    def delete(self) -> None:
        """Delete the objects."""
        with self._session() as session:
            ask(session, "DELETE", self._maps, params={"labelSelector": f"kept={self._label}"})
        self._folder.cleanup()

    def nodes(self) -> dict[str, bool]:
        """Whether each node is ready; empty if the API does not answer."""
        try:
            listed = self._list(f"{self._url}/api/v1/nodes")
            return {node["metadata"]["name"]: _is_ready(node) for node in listed}
        except ClientError as error:
            log(f"nodes: {error}")
            return {}

    @property
    def _maps(self) -> str:
        return f"{self._url}/api/v1/namespaces/default/configmaps"

    def _list(self, url: str, **params: str) -> list[dict[str, Any]]:
        with self._session() as session:
            items: list[dict[str, Any]] = ask(session, "GET", url, params=params).json()["items"]
        return items

    def _session(self) -> requests.Session:
        """A connection ends when the virtual IP moves: each request has its own."""
        session = requests.Session()
        session.trust_env = False  # REQUESTS_CA_BUNDLE would replace the cluster's CA
        session.verify = str(self._ca)
        session.headers["Authorization"] = self._authorization
        return session


def _is_ready(node: dict[str, Any]) -> bool:
    conditions = node["status"]["conditions"]
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
