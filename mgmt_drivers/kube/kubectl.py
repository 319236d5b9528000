"""kubectl on a master, with the administrator's rights; outlasts an API that is busy."""

import json
from collections.abc import Mapping
from typing import Any

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import busy
from mgmt_drivers.ssh.session import Stdin

# The machine's own apiserver, not the virtual IP, which may sit on a machine that fails.
_OWN = "https://127.0.0.1:6443"
_AT = ("kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "--tls-server-name", "kubernetes")
_KUBECTL = (*_AT, "--server", _OWN)
_LIMIT = 120.0  # seconds
_CLOSED = "tacker-mgmt-drivers/closed"  # annotation of the nodes that we closed
# Seconds after its own time to end: whoever then holds a pod, its node goes all the same.
_OVERDUE = 30


def get(host: Host, *words: str) -> dict[str, Any]:
    """The object or list that ``kubectl get`` shows."""
    found: dict[str, Any] = json.loads(_run(host, "get", *words, "--output", "json"))
    return found


def unreadiness(host: Host, url: str = _OWN) -> str:
    """Why the API at a URL is not ready (its /readyz); empty when it is."""
    words = ("--server", url, "--request-timeout", "5s", "get", "--raw", "/readyz")
    seen = host.ask(*_AT, *words)
    if seen.ok and seen.stdout.strip() == "ok":
        return ""
    return seen.stderr.strip() or seen.stdout.strip() or "no answer"


def apply(host: Host, manifest: str) -> None:
    _run(host, "apply", "--filename", "-", stdin=manifest)


def nodes(host: Host) -> dict[str, dict[str, Any]]:
    """The cluster's Node objects by name."""
    return {node["metadata"]["name"]: node for node in get(host, "nodes")["items"]}


def delete(host: Host, kind: str, name: str, namespace: str | None = None) -> None:
    """Delete an object; one that is gone is fine."""
    where = ("--namespace", namespace) if namespace else ()
    _run(host, "delete", kind, name, *where, "--ignore-not-found")


def close(host: Host, node: str) -> None:
    """Let no new pods come to a node (``kubectl cordon``), and mark it as closed by us."""
    _patch(host, node, {_CLOSED: "true"}, unschedulable=True)


def open_again(host: Host, node: str) -> None:
    """Undo :func:`close`."""
    _patch(host, node, {_CLOSED: None}, unschedulable=None)


def is_closed_by_others(node: Mapping[str, Any]) -> bool:
    ours = _CLOSED in node["metadata"].get("annotations", {})
    return bool(node["spec"].get("unschedulable")) and not ours


def _patch(
    host: Host, node: str, annotations: Mapping[str, str | None], unschedulable: bool | None
) -> None:
    body = {"metadata": {"annotations": annotations}, "spec": {"unschedulable": unschedulable}}
    _run(host, "patch", "node", node, "--type", "merge", "--patch", json.dumps(body))


def drain(host: Host, node: str, seconds: int) -> None:
    """Evict a node's pods, of whatever namespace; PodDisruptionBudgets are respected.

    A pod that is evicted and does not end, such as one with a finalizer, is given up.

    :param seconds: after which it is given up
    :raises CommandFailed: with the API's words on what cannot be evicted, or an API that is busy
    """
    options = (
        "--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--timeout={seconds}s",
        f"--skip-wait-for-delete-timeout={_OVERDUE}",
    )
    host.sudo(*_KUBECTL, "drain", node, *options, timeout=seconds + _LIMIT)


def label(host: Host, node: str, labels: Mapping[str, str]) -> None:
    words = [f"{key}={value}" for key, value in labels.items()]
    _run(host, "label", "node", node, "--overwrite", *words)


def taint(host: Host, node: str, taint: Mapping[str, str]) -> None:
    """Put a taint, as the API shows it, on a node."""
    words = f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
    _run(host, "taint", "node", node, "--overwrite", words)


def _run(host: Host, *words: str, stdin: Stdin = None) -> str:
    return busy.outlast(lambda: host.sudo(*_KUBECTL, *words, stdin=stdin, timeout=_LIMIT))


def state_of(node: Mapping[str, Any] | None) -> str:
    """``ready``, or the cluster's words on why a node (None: one it has not) is not."""
    if node is None:
        return "not in the cluster"
    return _readiness(node)


def is_ready(thing: Mapping[str, Any] | None) -> bool:
    """Whether the cluster holds a node or pod to be ready."""
    return thing is not None and _readiness(thing) == _READY


_READY = "ready"


def _readiness(thing: Mapping[str, Any]) -> str:
    conditions = {c["type"]: c for c in thing["status"].get("conditions", ())}
    ready = conditions.get("Ready", {})
    return _READY if ready.get("status") == "True" else str(ready.get("message", "unknown"))
