"""Bring the add-ons of the parameters into the cluster, and remove those that left."""

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mgmt_drivers.clock import NotYet
from mgmt_drivers.cluster.addons import addons, manifests
from mgmt_drivers.cluster.addons.manifests import Object
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.storage import volumes
from mgmt_drivers.engine.phase import DEPENDS, Change, Prediction
from mgmt_drivers.engine.trace import UNCHANGED
from mgmt_drivers.errors import AddonFailed, CommandFailed
from mgmt_drivers.machine.host import Host

_LIMIT = 600.0  # seconds for the pods of an add-on
# The counts in the status of a workload: pods of the newest template, and pods that serve.
_COUNTS = {
    "Deployment": ("updatedReplicas", "availableReplicas"),
    "DaemonSet": ("updatedNumberScheduled", "numberAvailable"),
    "StatefulSet": ("updatedReplicas", "readyReplicas"),
}
# Fields of a StorageClass that the API lets nobody change, with their defaults.
_FIXED = {
    "provisioner": "", "parameters": {}, "reclaimPolicy": "Delete",
    "volumeBindingMode": "Immediate",
}  # fmt: skip


class Plan(NamedTuple):
    """Add-ons to apply and to wait for, objects to delete, and all objects that stay."""

    due: Mapping[str, Sequence[Object]]
    stale: Sequence[Object]
    staying: Sequence[Object]


class ApplyAddons(Change[Cluster, Plan]):
    """Apply the add-ons in their order, each after the one before is rolled out.

    Objects that have left an add-on, and those of add-ons that have left the list, are deleted
    then. Fields that others have changed become as the add-on has them.

    :param are_restored: a backup has brought the objects; their volumes may have another address
    """

    title = "apply add-ons"

    def __init__(self, are_restored: bool = False) -> None:
        self._are_restored = are_restored

    def look(self, host: Host, cluster: Cluster) -> Plan | None:
        rendered, recorded = addons.render(host, cluster), addons.read_record(host)
        staying = [addons.identity(thing) for found in rendered.values() for thing in found]
        names = set(map(manifests.describe, staying))
        stale = [thing for thing in recorded if manifests.describe(thing) not in names]
        due = {name: found for name, found in rendered.items() if not _is_done(host, found)}
        return Plan(due, stale, staying) if due or recorded != staying else None

    def describe(self, plan: Plan) -> str:
        return ", ".join([*plan.due, *(f"without {manifests.describe(o)}" for o in plan.stale)])

    def predict(self, host: Host, cluster: Cluster) -> Prediction:
        found = super().predict(host, cluster)
        if found.outcome != UNCHANGED or not cluster.params.addons:
            return found
        return Prediction(DEPENDS, "on whether pods that the steps before evict serve again")

    def act(self, host: Host, cluster: Cluster, plan: Plan) -> None:
        # First: an attempt that breaks off leaves no object of which nobody knows.
        addons.write_record(host, [*plan.staying, *plan.stale])
        for name, objects in plan.due.items():
            if self._are_restored:
                volumes.replace_restored(host, manifests.of_kind("PersistentVolume", objects))
            _remove_other_classes(host, manifests.of_kind("StorageClass", objects))
            _apply(host, name, objects)
        for thing in reversed(plan.stale):  # objects before what they need, such as a namespace
            addons.remove(host, thing)
        if plan.stale:
            addons.write_record(host, plan.staying)


def _remove_other_classes(host: Host, classes: Sequence[Object]) -> None:
    """Remove StorageClasses that have other fixed fields; volumes do without their class."""
    found = {manifests.describe(item): item for item in manifests.find(host, classes)}
    for thing in classes:
        there = found.get(manifests.describe(thing), thing)
        if any((thing.get(k) or v) != (there.get(k) or v) for k, v in _FIXED.items()):
            addons.remove(host, thing)


def _apply(host: Host, name: str, objects: Sequence[Object]) -> None:
    try:
        manifests.apply(host, objects, takes_over=True)
    except CommandFailed as error:
        raise AddonFailed(f"add-on {name}: {error}") from error
    check = functools.partial(_check_rollout, host, objects)
    host.clock.until(check, _LIMIT, f"the rollout of add-on {name}")


def _is_done(host: Host, objects: Sequence[Object]) -> bool:
    try:
        _check_rollout(host, objects)
    except NotYet:
        return False
    return kubectl.compare(host, manifests.text_of(objects)).are_equal


def _check_rollout(host: Host, objects: Sequence[Object]) -> None:
    """:raises NotYet: with workloads that are not rolled out, and pods that are not ready"""
    workloads = [thing for thing in objects if thing["kind"] in _COUNTS]
    items = manifests.find(host, workloads)
    lacks = [(thing, lack) for thing in items if (lack := _find_lack(thing))]
    told = [f"{manifests.describe(o)}: {', '.join([lack, *_ill(host, o)])}" for o, lack in lacks]
    if told or len(items) < len(workloads):
        raise NotYet("; ".join(told) or "a workload is missing")


def _find_lack(thing: Object) -> str:
    """The lack of a workload (as ``kubectl rollout status`` has it); empty if it lacks nothing."""
    spec, status = thing["spec"], thing.get("status", {})
    if status.get("observedGeneration", 0) < thing["metadata"].get("generation", 0):
        return "its controller has not seen it yet"
    wanted = status.get("desiredNumberScheduled", spec.get("replicas", 0))
    updated, available = (status.get(key, 0) for key in _COUNTS[thing["kind"]])
    strategy = spec.get("updateStrategy") or {}
    partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0  # pods below it stay
    due = 0 if strategy.get("type") == "OnDelete" else wanted - partition
    if updated < due:
        return f"{updated} of {due} pods are updated"
    if thing["kind"] == "Deployment" and (former := status.get("replicas", 0) - updated) > 0:
        return f"{former} pods of the former template are left"  # available without the new ones
    return f"{available} of {wanted} pods are available" if available < wanted else ""


def _ill(host: Host, thing: Object) -> list[str]:
    """The pods of a workload that are not ready, each with the reason."""
    labels = (thing["spec"]["selector"].get("matchLabels") or {}).items()
    selector = ",".join(f"{key}={value}" for key, value in labels)
    where = ("--namespace", thing["metadata"]["namespace"], f"--selector={selector}")
    told = []
    for pod in kubectl.list_objects(host, "pods", *where):
        states = [s.get("state") or {} for s in pod["status"].get("containerStatuses", ())]
        waiting = [str(s["waiting"].get("reason")) for s in states if "waiting" in s]
        reason = ", ".join(waiting) or kubectl.state_of(pod)
        told += [f"pod {pod['metadata']['name']}: {reason}"] if reason != kubectl.READY else []
    return told
