"""Take over objects that earlier drivers applied on the client's side (kubectl's default).

Server-side apply takes the fields of such an object for somebody else's. kubectl moves them to the
manager that applies, but only after an apply without a conflict (client-go's csaupgrade).
"""

import re
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.errors import CommandFailed
from mgmt_drivers.machine import answers
from mgmt_drivers.machine.host import Host

_CLIENT_SIDE = ("kubectl-client-side-apply", "Update")
_OURS = (kubectl.MANAGER, "Apply")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]{0,252}")
_MOMENT = timedelta(seconds=5)


class Adoption(NamedTuple):
    """An object in words for kubectl, and where its managedFields have the client's apply."""

    words: tuple[str, ...]
    number: int


def find(host: Host, manifest: str) -> list[Adoption]:
    """Find the objects that a client-side apply has created and that nobody has applied since.

    Who applies a manifest of another kind, such as a newer flannel, has the same manager's name.
    """
    words = ("--filename", "-", "--ignore-not-found", "--show-managed-fields")
    try:
        objects = kubectl.list_objects(host, *words, stdin=manifest)
    except CommandFailed:  # a kind that is not served, or a kubectl before 1.21
        return []
    return [adoption for thing in objects if (adoption := _adoption(thing))]


def adopt(host: Host, adoption: Adoption) -> None:
    """Let the fields of the client-side apply be ours; fields that others have changed stay."""
    path = f"/metadata/managedFields/{adoption.number}"
    values = dict(zip(("manager", "operation"), _OURS, strict=True))
    patch = [{"op": "test", "path": f"{path}/manager", "value": _CLIENT_SIDE[0]}]
    patch += [{"op": "replace", "path": f"{path}/{key}", "value": values[key]} for key in values]
    kubectl.patch(host, *adoption.words, patch=patch)


def _adoption(thing: dict[str, Any]) -> Adoption | None:
    metadata = thing["metadata"]
    entries = metadata.get("managedFields", [])
    managers = [(entry.get("manager"), entry.get("operation")) for entry in entries]
    if _OURS in managers or managers.count(_CLIENT_SIDE) != 1:
        return None
    number = managers.index(_CLIENT_SIDE)
    time = entries[number].get("time")  # optional, as each field of an entry
    if not time or _time(time) - _time(metadata["creationTimestamp"]) > _MOMENT:
        return None
    group, slash, version = thing["apiVersion"].rpartition("/")
    kind = f"{thing['kind']}.{version}.{group}" if slash else thing["kind"]
    names = [kind, metadata["name"], metadata.get("namespace", "default")]
    kind, name, namespace = (answers.checked(n, _WORD, "a name of an object") for n in names)
    return Adoption((kind, name, "--namespace", namespace), number)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
