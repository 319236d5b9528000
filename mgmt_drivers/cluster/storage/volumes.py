"""PersistentVolumes that the driver registers, and who uses them."""

import copy
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.topology import StorageServer
from mgmt_drivers.errors import MgmtDriverError, WaitTimeout
from mgmt_drivers.machine.host import Host

# By which volumes of this driver are recognized.
_LABEL = ("app.kubernetes.io/managed-by", "tacker-mgmt-drivers")
_LIMIT = 120.0  # seconds for a volume to be available
# Phases of a PersistentVolume (Kubernetes API reference) in which it belongs to a claim.
_LOCKED = ("Bound", "Released", "Failed")
_GOOD = ("Available", "Bound")

Volume = Mapping[str, Any]  # a PersistentVolume as the API takes it


class InUse(MgmtDriverError):
    """PersistentVolumes that cannot go."""


def names(server: StorageServer) -> list[str]:
    """Names of the PersistentVolumes in the parameters."""
    return [_name(volume) for volume, _ in _listed(server)]


def wanted(server: StorageServer) -> list[Volume]:
    """The PersistentVolumes in the parameters, at the address of the storage server."""
    return [at(volume, server.node.address(server_cp)) for volume, server_cp in _listed(server)]


def _listed(server: StorageServer) -> list[tuple[Volume, str]]:
    """Each with the CP that has its server's address."""
    manifests = server.params.manifests
    return [(v, manifest.server_cp) for manifest in manifests for v in manifest.volumes]


def at(volume: Volume, server: str) -> Volume:
    """The volume on an NFS server of that address, marked as ours."""
    placed: dict[str, Any] = copy.deepcopy(dict(volume))
    placed["spec"]["nfs"]["server"] = server
    metadata = placed["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), _LABEL[0]: _LABEL[1]}
    return placed


def missing(host: Host, expected: Iterable[Volume]) -> list[Volume]:
    """Ask which PersistentVolumes the cluster lacks, or has at another address.

    :raises MgmtDriverError: when somebody else's has the name of one
    """
    found = _registered(host)
    _check_owner(found, map(_name, expected))
    return [volume for volume in expected if not _is_same(volume, found.get(_name(volume)))]


def register(host: Host, expected: Sequence[Volume], *, are_restored: bool = False) -> None:
    """Make the cluster have them; one at another address is replaced, unless it is in use.

    :param are_restored: the server of all that is there is gone, and claims are bound again
    """
    own = [_name(volume) for volume in expected]
    if are_restored:
        expected = _with_claims(host, expected)
        for name in set(own) & set(_registered(host)):
            kubectl.discard(host, "persistentvolume", name)
    else:
        outdated = removable(host, own)
        if outdated:
            kubectl.delete(host, "persistentvolume", *outdated)
    kubectl.apply(host, json.dumps({"apiVersion": "v1", "kind": "List", "items": [*expected]}))
    lacking: Mapping[str, str] = {}
    for _ in host.clock.attempts(_LIMIT):
        found = _registered(host)
        phases = {name: _phase(found[name]) if name in found else "missing" for name in own}
        lacking = {name: phase for name, phase in phases.items() if phase not in _GOOD}
        if not lacking:
            return
    raise WaitTimeout(f"PersistentVolumes are not available within {_LIMIT:g} s: {lacking}")


def _with_claims(host: Host, expected: Sequence[Volume]) -> list[Volume]:
    """The volumes, each held for the claim that is bound to it, as the claim says."""
    claims = kubectl.get(host, "persistentvolumeclaims", "--all-namespaces")["items"]
    holders = {claim["spec"].get("volumeName"): claim["metadata"] for claim in claims}
    return [_held_for(volume, holders.get(_name(volume))) for volume in expected]


def _held_for(volume: Volume, claim: Mapping[str, Any] | None) -> Volume:
    if claim is None:
        return volume
    identity = {key: claim[key] for key in ("namespace", "name", "uid")}
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **identity}
    return {**volume, "spec": {**volume["spec"], "claimRef": reference}}


def check_server(host: Host, own: Collection[str], addresses: Collection[str]) -> None:
    """See that nobody would miss an NFS server, and that our volumes can come back to it.

    Whoever uses it loses data with it: no matter who registered the volume.

    :param own: names of our volumes
    :raises InUse: naming volumes, claims and pods
    :raises MgmtDriverError: when somebody else's volume has the name of one of ours
    """
    found = _registered(host)
    _check_free(host, [
        volume for name, volume in found.items()
        if (name in own and _is_ours(volume)) or _server(volume) in addresses
    ])
    _check_owner(found, own)


def _check_owner(found: Mapping[str, Volume], asked: Iterable[str]) -> None:
    taken = [name for name in asked if name in found and not _is_ours(found[name])]
    if taken:
        raise MgmtDriverError(
            "the cluster has PersistentVolumes that this driver did not register by these names: "
            f"{', '.join(taken)}. Delete them, or choose other names"
        )


def _check_free(host: Host, asked: Sequence[Volume]) -> None:
    if not asked:
        return
    claims = kubectl.get(host, "persistentvolumeclaims", "--all-namespaces")["items"]
    pods = kubectl.get(host, "pods", "--all-namespaces")["items"]
    used = [use for volume in asked for use in _uses(volume, claims, pods)]
    if used:
        raise InUse("; ".join(used))


def removable(host: Host, unwanted: Iterable[str]) -> list[str]:
    """Ask which of the PersistentVolumes this driver has registered.

    :raises InUse: when one of them is in use
    """
    found = _registered(host)
    ours = [name for name in unwanted if name in found and _is_ours(found[name])]
    _check_free(host, [found[name] for name in ours])
    return ours


def _uses(volume: Volume, claims: list[Volume], pods: list[Volume]) -> list[str]:
    name = _name(volume)
    reference = volume["spec"].get("claimRef") or {}
    held_for = {(str(reference.get("namespace")), str(reference["name"]))} if reference else set()
    existing = {(c["metadata"]["namespace"], _name(c)): c["spec"].get("volumeName") for c in claims}
    holders = {claim for claim, of in existing.items() if of == name or claim in held_for}
    if _phase(volume) in _LOCKED:
        holders |= held_for
    elif not holders:  # one that is held for a claim nobody has made is free
        return []
    users = [f"{pod['metadata']['namespace']}/{_name(pod)}" for pod in pods
             if _claims_of(pod) & holders]
    claim = ", ".join("/".join(holder) for holder in sorted(holders)) or "none"
    return [
        f"{name} is {_phase(volume)}, claim: {claim}, pods: {', '.join(sorted(users)) or 'none'}"
    ]


def _claims_of(pod: Volume) -> set[tuple[str, str]]:
    namespace, volumes = pod["metadata"]["namespace"], pod["spec"].get("volumes") or ()
    sources = (volume.get("persistentVolumeClaim") for volume in volumes)
    # The claim of a generic ephemeral volume is named after the pod and the volume.
    own = {f"{_name(pod)}-{volume['name']}" for volume in volumes if volume.get("ephemeral")}
    return {(namespace, name) for name in own | {s["claimName"] for s in sources if s}}


def _registered(host: Host) -> dict[str, Volume]:
    """The cluster's, by name."""
    return {_name(item): item for item in kubectl.get(host, "persistentvolumes")["items"]}


def _is_ours(volume: Volume) -> bool:
    return (volume["metadata"].get("labels") or {}).get(_LABEL[0]) == _LABEL[1]


def _server(volume: Volume) -> str | None:
    """The address of its NFS server; None where it is not NFS."""
    server: str | None = (volume["spec"].get("nfs") or {}).get("server")
    return server


def _is_same(expected: Volume, found: Volume | None) -> bool:
    if found is None:
        return False
    mine, theirs = expected["spec"]["nfs"], found["spec"].get("nfs") or {}
    return (mine["server"], mine["path"]) == (theirs.get("server"), theirs.get("path"))


def _phase(volume: Volume) -> str:
    return str(volume.get("status", {}).get("phase", "Pending"))


def _name(thing: Volume) -> str:
    return str(thing["metadata"]["name"])
