"""kubectl on a control-plane node, with the administrator's rights; retries transient errors."""

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mgmt_drivers.clock import NotYet
from mgmt_drivers.cluster.nodes import transient
from mgmt_drivers.errors import CommandFailed
from mgmt_drivers.machine import answers
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.proxied import without_proxy
from mgmt_drivers.machine.script import Script
from mgmt_drivers.ssh.session import DEFAULT_OUTPUT, LARGE_OUTPUT, LIST_OUTPUT, Result, Stdin

# The machine's own apiserver, not the virtual IP, which may sit on a machine that fails. kubectl
# reaches a loopback address without a proxy.
_OWN = "https://127.0.0.1:6443"
# A check that fails; kube-apiserver lists all of its forty then.
_FAILED_CHECK = re.compile(r"\[-\]([a-z0-9/-]+) failed")
ADMIN = "/etc/kubernetes/admin.conf"  # the administrator's kubeconfig
_AT = ("kubectl", "--kubeconfig", ADMIN, "--tls-server-name", "kubernetes")
_KUBECTL = (*_AT, "--server", _OWN)
_LIMIT = 120.0  # seconds
_CORDONED = "tacker-mgmt-drivers/cordoned"  # annotation of the nodes that we cordoned: what for
LEAVING, UPGRADE = "true", "upgrade"
# Seconds beyond a pod's grace period after which a drain no longer waits for it (finalizers).
_OVERDUE = 30
READY = "ready"
_COMPARE = Script(__package__, "compare-objects")
_REWRITE = Script(__package__, "rewrite-objects")
_REWRITE_LIMIT = 900.0  # seconds
MANAGER = "tacker-mgmt-drivers"  # of the fields that server-side apply sets for us


def get(host: Host, *words: str, stdin: Stdin = None) -> dict[str, Any]:
    """Get the object or list that ``kubectl get`` shows; empty if it shows nothing.

    No error quotes the output of a command that fails: it may contain an account's Secret.
    """
    command = ("get", *words, "--output", "json")

    def check(result: Result) -> None:
        if not result.ok:
            raise CommandFailed(f"kubectl {' '.join(command)}", result.status, result.complaint)

    ask = _asking(host, (*_KUBECTL, *command), stdin, _LIMIT, LARGE_OUTPUT, check=False)
    return json.loads(transient.retry(host.clock, ask, check).stdout or "{}")


def list_objects(host: Host, *words: str, stdin: Stdin = None) -> list[dict[str, Any]]:
    """List the objects that ``kubectl get`` shows, which shows a single one without a list."""
    shown = get(host, *words, stdin=stdin)
    return shown.get("items", [shown] if shown else [])


def list_nodes(host: Host) -> dict[str, dict[str, Any]]:
    """List the cluster's Node objects, by name."""
    found = {node["metadata"]["name"]: node for node in get(host, "nodes")["items"]}
    return {answers.checked(name, answers.NODE, "a node's name"): found[name] for name in found}


def apply(host: Host, manifest: str) -> bool:
    """Apply the objects of a manifest; returns whether anything changed."""
    shown = _run(host, "apply", "--filename", "-", stdin=manifest)
    return any(not line.endswith(" unchanged") for line in shown.splitlines())


class Comparison(NamedTuple):
    """Objects of a manifest beside those of the cluster.

    ``names`` are those that the cluster has, such as ``daemonset.apps/flannel``; ``conflict`` tells
    which fields others have changed, if any.
    """

    names: list[str]
    are_equal: bool
    conflict: str


def compare(host: Host, manifest: str) -> Comparison:
    """Compare the objects of a manifest with the cluster's, as :func:`merge` would leave them."""

    def check(result: Result) -> None:
        if result.status > 1 and transient.passes(result.complaint):
            raise CommandFailed("kubectl diff", result.status, result.complaint)

    argv = _COMPARE.command(MANAGER, *_KUBECTL)
    ask = _asking(host, argv, manifest, 2 * _LIMIT, DEFAULT_OUTPUT, check=False)
    seen = transient.retry(host.clock, ask, check)
    conflict = seen.complaint if seen.status > 1 and "conflict" in seen.complaint else ""
    return Comparison(seen.stdout.split(), seen.ok, conflict)


def merge(host: Host, manifest: str, takes_over: bool, manager: str = MANAGER) -> None:
    """Apply a manifest on the server's side: objects of any size, whose other fields stay.

    :param takes_over: also fields that others have changed, which are refused otherwise
    :param manager: of the fields; those that a later manifest leaves out go if no other sets them
    """
    options = ["--server-side", "--field-manager", manager]
    options += ["--force-conflicts"] if takes_over else []
    _run(host, "apply", *options, "--filename", "-", stdin=manifest)


def wait_for(host: Host, condition: str, manifest: str) -> None:
    words = (f"--for=condition={condition}", f"--timeout={_LIMIT:g}s")
    _run(host, "wait", *words, "--filename", "-", stdin=manifest, limit=2 * _LIMIT)


def delete(
    host: Host, kind: str, *names: str, namespace: str | None = None, wait: bool = True
) -> bool:
    """Delete objects; one that is gone is fine. Returns whether there were any.

    :param kind: the kind of all names, or the first of names that have their kind: ``node/n``
    :param wait: until they are gone
    """
    how = ("--ignore-not-found", *(() if wait else ("--wait=false",)))
    where = ("--namespace", namespace) if namespace else ()
    limit = _LIMIT * max(1, len(names))
    return bool(_run(host, "delete", kind, *names, *where, *how, limit=limit))


def delete_all(host: Host, manifest: str) -> None:
    _run(host, "delete", "--filename", "-", "--ignore-not-found", stdin=manifest)


def rewrite(host: Host, kind: str) -> None:
    """Write all objects of a kind as they are: the API encrypts them as it is told to now."""
    argv = _REWRITE.command(kind, *_KUBECTL)
    transient.retry(host.clock, _asking(host, argv, None, _REWRITE_LIMIT, DEFAULT_OUTPUT))


def delete_pods(host: Host, namespace: str, selector: str, node: str) -> None:
    """Delete the pods of a node by a label selector; their controller recreates them."""
    where = ("--namespace", namespace, "--field-selector", f"spec.nodeName={node}")
    _run(host, "delete", "pods", "--selector", selector, *where, "--ignore-not-found")


def discard_pods(host: Host, node: str) -> None:
    """Delete all pods of a node whose machine is gone, without waiting for their end."""
    where = ("--all-namespaces", "--field-selector", f"spec.nodeName={node}")
    _run(host, "delete", "pods", *where, "--grace-period=0", "--force", "--wait=false")


def list_pods(host: Host, node: str) -> list[dict[str, Any]]:
    where = ("--all-namespaces", "--field-selector", f"spec.nodeName={node}")
    return list_objects(host, "pods", *where)


def discard(host: Host, kind: str, name: str) -> None:
    """Delete an object, and remove its finalizers, which would delay the deletion."""
    _run(host, "delete", kind, name, "--ignore-not-found", "--wait=false")
    try:
        patch(host, kind, name, patch={"metadata": {"finalizers": None}})
    except CommandFailed as error:
        if "NotFound" not in error.tail:
            raise


def cordon(host: Host, node: str, what_for: str) -> None:
    """Let no new pods come to a node, and note that it was we who cordoned it.

    :param what_for: ``LEAVING`` or ``UPGRADE``
    """
    patch(host, "node", node, patch=_scheduling(what_for, True))


def uncordon(host: Host, node: str) -> None:
    patch(host, "node", node, patch=_scheduling(None, None))


def why_cordoned(node: Mapping[str, Any]) -> str:
    """``LEAVING`` or ``UPGRADE``, if it was we who cordoned a node; otherwise empty."""
    return node["metadata"].get("annotations", {}).get(_CORDONED, "")


def has_condition(node: Mapping[str, Any], kind: str) -> bool:
    """Whether a condition of a node, such as DiskPressure, is true."""
    conditions = node["status"].get("conditions", ())
    return any(c["type"] == kind and c["status"] == "True" for c in conditions)


def kubelet_release(node: Mapping[str, Any]) -> str:
    """The release of a node's kubelet, such as v1.33.2."""
    release = node["status"].get("nodeInfo", {}).get("kubeletVersion")
    return answers.checked(release, answers.RELEASE, "a release of kubelet")


def drain(host: Host, node: str, seconds: int) -> None:
    """Evict a node's pods, of whatever namespace; PodDisruptionBudgets are respected.

    A pod that is evicted and does not end, such as one with a finalizer, is no longer waited for.

    :param seconds: after which the eviction times out
    :raises CommandFailed: with the API's words on what cannot be evicted, or a transient error
    """
    options = (
        "--ignore-daemonsets", "--delete-emptydir-data", "--force", f"--timeout={seconds}s",
        f"--skip-wait-for-delete-timeout={_OVERDUE}",
    )
    host.sudo(*_KUBECTL, "drain", node, *options, timeout=seconds + _LIMIT, limit=LARGE_OUTPUT)


def label(host: Host, node: str, labels: Mapping[str, str]) -> None:
    words = [f"{key}={value}" for key, value in labels.items()]
    _run(host, "label", "node", node, "--overwrite", *words)


def taint(host: Host, node: str, taint: Mapping[str, str]) -> None:
    """Put a taint, as the API shows it, on a node."""
    words = f"{taint['key']}={taint.get('value', '')}:{taint['effect']}"
    _run(host, "taint", "node", node, "--overwrite", words)


def patch(
    host: Host, *words: str, patch: Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> None:
    """Change an object by a merge patch (RFC 7386), or by the steps of a JSON patch (RFC 6902)."""
    kind = "merge" if isinstance(patch, Mapping) else "json"
    _run(host, "patch", *words, "--type", kind, "--patch", json.dumps(patch))


def read_last_line(host: Host, pod: str, namespace: str) -> str:
    """Read the last line of the log of a pod's last container."""
    return _run(host, "logs", pod, "--namespace", namespace, "--tail=1").strip()


def find_why_not_ready(host: Host, url: str = _OWN) -> str:
    """Find the reason why the API at a URL is not ready (its /readyz); empty if it is ready."""
    words = ("--server", url, "--request-timeout", "5s", "get", "--raw", "/readyz")
    seen = host.ask(*without_proxy((*_AT, *words)))
    if seen.ok and seen.stdout.strip() == "ok":
        return ""
    failed = _FAILED_CHECK.findall(seen.tail)  # in which secrets are masked
    return f"{', '.join(failed)} failed" if failed else seen.tail or "no answer"


def wait_for_api(host: Host, address: str, port: int, limit: float) -> None:
    url = f"https://{address}:{port}"

    def ready() -> None:
        reason = find_why_not_ready(host, url)
        if reason:
            raise NotYet(reason)

    host.clock.until(ready, limit, f"the API at {url}")


def is_ready(thing: Mapping[str, Any] | None) -> bool:
    """Whether the cluster holds a node or pod to be ready."""
    return thing is not None and state_of(thing) == READY


def state_of(thing: Mapping[str, Any] | None) -> str:
    """``ready``, or the cluster's words on why a node or pod (None: there is none) is not."""
    if thing is None:
        return "not in the cluster"
    conditions = {c["type"]: c for c in thing["status"].get("conditions", ())}
    ready = conditions.get("Ready", {})
    words = str(ready.get("message", "unknown"))
    return READY if ready.get("status") == "True" else words.rstrip(".")


def _scheduling(what_for: str | None, unschedulable: bool | None) -> Mapping[str, Any]:
    annotations = {_CORDONED: what_for}
    return {"metadata": {"annotations": annotations}, "spec": {"unschedulable": unschedulable}}


def _run(host: Host, *words: str, stdin: Stdin = None, limit: float = _LIMIT) -> str:
    ask = _asking(host, (*_KUBECTL, *words), stdin, limit, LIST_OUTPUT)
    return transient.retry(host.clock, ask).stdout


def _asking(
    host: Host, argv: Sequence[str], stdin: Stdin, timeout: float, limit: int, check: bool = True
) -> Callable[[], Result]:
    """The call that runs a command, to be repeated while its error passes."""
    return functools.partial(
        host.session.run, argv, stdin=stdin, sudo=True, check=check, timeout=timeout, limit=limit
    )
