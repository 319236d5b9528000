"""PersistentVolumes that the driver registers, and who uses them."""

import copy
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.ssh import wait

# By which ours are told from others of the same name.
_LABEL = ("app.kubernetes.io/managed-by", "tacker-mgmt-drivers")
_LIMIT = 120.0  # seconds for a volume to be available
# Phases of a PersistentVolume (Kubernetes API reference) in which it belongs to a claim.
_TAKEN = ("Bound", "Released", "Failed")
_GOOD = ("Available", "Bound")

Volume = Mapping[str, Any]  # a PersistentVolume as the API takes it


class NotOurs(MgmtDriverError):
    """Somebody else's PersistentVolume has the name of one of ours."""


class InUse(MgmtDriverError):
    """PersistentVolumes that cannot go."""


def names(cluster: Cluster) -> list[str]:
    """Of those that the parameters list."""
    return [_name(volume) for volume, _ in _listed(cluster)]


def wanted(cluster: Cluster) -> list[Volume]:
    """Those that the parameters list, at the address of the storage server."""
    assert cluster.storage
    node = cluster.storage.node
    return [at(volume, node.address(server_cp)) for volume, server_cp in _listed(cluster)]


def _listed(cluster: Cluster) -> list[tuple[Volume, str]]:
    """Each with the CP that has its server's address."""
    storage = cluster.params.storage
    assert storage
    return [(v, manifest.server_cp) for manifest in storage.manifests for v in manifest.volumes]


def at(volume: Volume, server: str) -> Volume:
    """The volume on an NFS server of that address, marked as ours."""
    placed: dict[str, Any] = copy.deepcopy(dict(volume))
    placed["spec"]["nfs"]["server"] = server
    metadata = placed["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), _LABEL[0]: _LABEL[1]}
    return placed


def missing(host: Host, expected: Iterable[Volume]) -> list[Volume]:
    """Those that the cluster has not, or at another address.

    :raises NotOurs: when somebody else's has the name of one
    """
    found = _registered(host)
    _check_owner(found, map(_name, expected))
    return [volume for volume in expected if not _is_same(volume, found.get(_name(volume)))]


def register(host: Host, expected: Iterable[Volume]) -> None:
    """Make the cluster have them; one at another address is replaced, unless it is in use."""
    own = [_name(volume) for volume in expected]
    remove(host, own)
    kubectl.apply(host, json.dumps({"apiVersion": "v1", "kind": "List", "items": [*expected]}))

    def good() -> None:
        found = _registered(host)
        lacking = {n: _phase(found[n]) if n in found else "not there" for n in own}
        lacking = {name: phase for name, phase in lacking.items() if phase not in _GOOD}
        if lacking:
            raise wait.NotYet(str(lacking))

    wait.until(good, _LIMIT, "PersistentVolumes to be available")


def check_server(host: Host, own: Collection[str], addresses: Collection[str]) -> None:
    """See that nobody would miss an NFS server, and that our volumes can come back to it.

    Whoever uses it loses data with it: no matter who registered the volume.

    :param own: names of our volumes
    :raises InUse: naming volumes, claims and pods
    :raises NotOurs: when somebody else's volume has the name of one of ours
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
        raise NotOurs(
            f"the cluster has PersistentVolumes of other people's by these names: "
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


def remove(host: Host, unwanted: Iterable[str]) -> None:
    """Delete those of them that are ours.

    :raises InUse: when one is in use
    """
    found = _registered(host)
    ours = [name for name in unwanted if name in found and _is_ours(found[name])]
    _check_free(host, [found[name] for name in ours])
    for name in ours:
        kubectl.delete(host, "persistentvolume", name)


def _uses(volume: Volume, claims: list[Volume], pods: list[Volume]) -> list[str]:
    name = _name(volume)
    reference = volume["spec"].get("claimRef") or {}
    held_for = {(str(reference.get("namespace")), str(reference["name"]))} if reference else set()
    existing = {(c["metadata"]["namespace"], _name(c)): c["spec"].get("volumeName") for c in claims}
    holders = {claim for claim, of in existing.items() if of == name or claim in held_for}
    if _phase(volume) in _TAKEN:
        holders |= held_for
    elif not holders:  # one that is held for a claim nobody has made is free
        return []
    users = [f"{pod['metadata']['namespace']}/{_name(pod)}" for pod in pods
             if _claims_of(pod) & holders]
    told = ", ".join("/".join(holder) for holder in sorted(holders)) or "none"
    return [
        f"{name} is {_phase(volume)}, claim: {told}, pods: {', '.join(sorted(users)) or 'none'}"
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
