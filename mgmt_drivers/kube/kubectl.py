"""kubectl on a master, with the administrator's rights."""

import json
from typing import Any

from mgmt_drivers.host.host import Host

_KUBECTL = ("kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf")
_LIMIT = 120.0  # seconds


def get(host: Host, *words: str) -> dict[str, Any]:
    """The object or list that ``kubectl get`` shows."""
    shown = host.sudo(*_KUBECTL, "get", *words, "--output", "json", timeout=_LIMIT)
    found: dict[str, Any] = json.loads(shown)
    return found


def apply(host: Host, manifest: str) -> None:
    host.sudo(*_KUBECTL, "apply", "--filename", "-", stdin=manifest, timeout=_LIMIT)


def nodes(host: Host) -> dict[str, dict[str, Any]]:
    """The cluster's Node objects by name."""
    return {node["metadata"]["name"]: node for node in get(host, "nodes")["items"]}


def delete(host: Host, kind: str, name: str, namespace: str | None = None) -> None:
    """Delete an object; one that is gone is fine."""
    where = ("--namespace", namespace) if namespace else ()
    host.sudo(*_KUBECTL, "delete", kind, name, *where, "--ignore-not-found", timeout=_LIMIT)
