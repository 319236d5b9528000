"""PersistentVolumes that the driver registers, and their users."""

import copy
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from mgmt_drivers.cluster.addons import addons
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.topology import StorageServer
from mgmt_drivers.errors import VolumeError, WaitTimeout
from mgmt_drivers.machine.host import Host

# Label of volumes that this driver has registered.
_LABEL = ("app.kubernetes.io/managed-by", "tacker-mgmt-drivers")
_CLAIMS = f"{kubectl.MANAGER}-claims"  # manager of volumes' references to claims
_LIMIT = 120.0  # seconds for a volume to be available
# Phases of a PersistentVolume (Kubernetes API reference) in which it belongs to a claim.
_LOCKED = ("Bound", "Released", "Failed")
_GOOD = ("Available", "Bound")

Volume = Mapping[str, Any]  # a PersistentVolume as an API object


class InUse(VolumeError):
    """PersistentVolumes are in use."""


def names(server: StorageServer) -> list[str]:
    return [_name(volume) for volume, _ in _listed(server)]


def expected(server: StorageServer) -> list[Volume]:
    """The PersistentVolumes in the parameters, at the address of the storage server."""
    return [at(volume, server.node.address(server_cp)) for volume, server_cp in _listed(server)]


def _listed(server: StorageServer) -> list[tuple[Volume, str]]:
    """The PersistentVolumes in the parameters, each with the CP of the storage server's address."""
    manifests = server.params.manifests
    return [(v, manifest.server_cp) for manifest in manifests for v in manifest.volumes]


def at(volume: Volume, server: str) -> Volume:
    """The volume at the address of an NFS server, with the label of this driver."""
    placed: dict[str, Any] = copy.deepcopy(dict(volume))
    placed["spec"]["nfs"]["server"] = server
    metadata = placed["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), _LABEL[0]: _LABEL[1]}
    return placed


def find_missing(host: Host, volumes: Iterable[Volume]) -> list[Volume]:
    """Find what is missing or at another address; raises MgmtDriverError if others have a name."""
    registered = _list_registered(host)
    _check_owner(registered, map(_name, volumes))
    places = {name: _place(volume) for name, volume in registered.items()}
    return [volume for volume in volumes if places.get(_name(volume)) != _place(volume)]


def register(host: Host, volumes: Sequence[Volume], *, are_restored: bool = False) -> None:
    """Register volumes; a volume at another address is replaced, unless the volume is in use.

    :param are_restored: the server of the registered volumes is deleted: all volumes are replaced,
        and bound to their claims again
    """
    own = [_name(volume) for volume in volumes]
    if are_restored:
        volumes = _find_claims(host, volumes)
        for name in set(own) & set(_list_registered(host)):
            kubectl.discard(host, "persistentvolume", name)
    else:
        outdated = find_removable(host, own)
        if outdated:
            kubectl.delete(host, "persistentvolume", *outdated)
    kubectl.apply(host, json.dumps({"apiVersion": "v1", "kind": "List", "items": [*volumes]}))
    lacking: Mapping[str, str] = {}
    for _ in host.clock.attempts(_LIMIT):
        registered = _list_registered(host)
        phases = {n: _phase(registered[n]) if n in registered else "missing" for n in own}
        lacking = {name: phase for name, phase in phases.items() if phase not in _GOOD}
        if not lacking:
            return
    listed = ", ".join(f"{name} is {phase}" for name, phase in lacking.items())
    raise WaitTimeout(
        f"PersistentVolumes are not available after {_LIMIT:g} s: {listed}. Look at `kubectl "
        "describe persistentvolume`, then retry"
    )


def replace_restored(host: Host, volumes: Sequence[Volume]) -> None:
    """Replace volumes of add-ons that a backup has brought with another address.

    They are bound to their claims again. Volumes of others stay as they are.
    """
    registered = _list_registered(host) if volumes else {}
    places = {name: _place(volume) for name, volume in registered.items()}
    foreign = {name for name, volume in registered.items() if addons.LABEL not in _labels(volume)}
    moved = [v for v in volumes if places.get(_name(v)) != _place(v) and _name(v) not in foreign]
    for volume in _find_claims(host, moved) if moved else ():
        kubectl.discard(host, "persistentvolume", _name(volume))
        # Under another name: the add-on, which lacks the reference to the claim, does not take it
        # away when it is applied.
        kubectl.merge(host, json.dumps(volume), takes_over=True, manager=_CLAIMS)


def _find_claims(host: Host, volumes: Sequence[Volume]) -> list[Volume]:
    """Find the claims that name volumes; returns the volumes, each with its claim's reference."""
    claims = kubectl.list_objects(host, "persistentvolumeclaims", "--all-namespaces")
    holders = {claim["spec"].get("volumeName"): claim["metadata"] for claim in claims}
    return [_held_for(volume, holders.get(_name(volume))) for volume in volumes]


def _held_for(volume: Volume, claim: Mapping[str, Any] | None) -> Volume:
    if claim is None:
        return volume
    identity = {key: claim[key] for key in ("namespace", "name", "uid")}
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **identity}
    return {**volume, "spec": {**volume["spec"], "claimRef": reference}}


def check_server(host: Host, own: Collection[str], addresses: Collection[str]) -> None:
    """Check that no volume on an NFS server is in use, and that the driver's can be registered.

    Users of the server lose data with it, no matter who registered their volumes.

    :raises InUse: naming volumes, claims and pods
    :raises MgmtDriverError: if the cluster has a volume of the same name without the driver's label
    """
    registered = _list_registered(host)
    _check_free(host, [
        volume for name, volume in registered.items()
        if (name in own and _is_ours(volume)) or _place(volume)[0] in addresses
    ])
    _check_owner(registered, own)


def _check_owner(registered: Mapping[str, Volume], names: Iterable[str]) -> None:
    taken = [name for name in names if name in registered and not _is_ours(registered[name])]
    if taken:
        raise VolumeError(
            "the cluster has PersistentVolumes that this driver did not register by these names: "
            f"{', '.join(taken)}. Delete them, or choose other names"
        )


def _check_free(host: Host, volumes: Sequence[Volume]) -> None:
    if not volumes:
        return
    claims = kubectl.list_objects(host, "persistentvolumeclaims", "--all-namespaces")
    pods = kubectl.list_objects(host, "pods", "--all-namespaces")
    used = [use for volume in volumes for use in _uses(volume, claims, pods)]
    if used:
        raise InUse("; ".join(used))


def find_removable(host: Host, names: Iterable[str]) -> list[str]:
    """Find the volumes that this driver has registered; raises InUse if one of them is in use."""
    registered = _list_registered(host)
    ours = [name for name in names if name in registered and _is_ours(registered[name])]
    _check_free(host, [registered[name] for name in ours])
    return ours


def _uses(volume: Volume, claims: Sequence[Volume], pods: Sequence[Volume]) -> list[str]:
    name = _name(volume)
    reference = volume["spec"].get("claimRef") or {}
    held_for = {(str(reference.get("namespace")), str(reference["name"]))} if reference else set()
    existing = {(c["metadata"]["namespace"], _name(c)): c["spec"].get("volumeName") for c in claims}
    holders = {claim for claim, of in existing.items() if of == name or claim in held_for}
    if _phase(volume) in _LOCKED:
        holders |= held_for
    elif not holders:  # a volume that is held for a claim which does not exist is free
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


def _list_registered(host: Host) -> dict[str, Volume]:
    return {_name(item): item for item in kubectl.list_objects(host, "persistentvolumes")}


def _is_ours(volume: Volume) -> bool:
    return _labels(volume).get(_LABEL[0]) == _LABEL[1]


def _labels(volume: Volume) -> Mapping[str, Any]:
    return volume["metadata"].get("labels") or {}


def _place(volume: Volume) -> tuple[Any, ...]:
    nfs, csi = (volume["spec"].get(source) or {} for source in ("nfs", "csi"))
    handle = csi.get("volumeHandle"), csi.get("volumeAttributes")
    return nfs.get("server"), nfs.get("path"), *handle


def _phase(volume: Volume) -> str:
    return str(volume.get("status", {}).get("phase", "Pending"))


def _name(thing: Volume) -> str:
    return str(thing["metadata"]["name"])
