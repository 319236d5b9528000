"""The number of machines that an operation adds or removes, from the VNFD (ETSI SOL001 6.10)."""

from collections.abc import Iterator, Mapping
from typing import Any

from mgmt_drivers.errors import ParameterError
from mgmt_drivers.tacker.vnfd import Vnfd

_POLICIES = "tosca.policies.nfv."
_VDU = "tosca.nodes.nfv.Vdu.Compute"


def instantiated(vnfd: Vnfd, level: str | None) -> dict[str, int]:
    """The number of machines of an instantiation level, or the default level, by VDU.

    :raises ParameterError: if the VNFD has no such level
    """
    nodes = vnfd.get("topology_template", {}).get("node_templates", {})
    counts = {name: 1 for name, node in nodes.items() if node.get("type") == _VDU}
    for policy in _policies(vnfd, "VduInitialDelta"):
        number = policy["properties"]["initial_delta"]["number_of_instances"]
        counts |= {vdu: int(number) for vdu in policy["targets"]}
    levels = [policy["properties"] for policy in _policies(vnfd, "InstantiationLevels")]
    if level is None and levels:
        level = levels[0].get("default_level")
    if level is not None and level not in {name for known in levels for name in known["levels"]}:
        raise ParameterError([f"instantiationLevelId: the VNFD has no level {level}"])
    for policy in _policies(vnfd, "VduInstantiationLevels"):
        of_level = policy["properties"]["levels"].get(level)
        if of_level:
            counts |= {vdu: int(of_level["number_of_instances"]) for vdu in policy["targets"]}
    return counts


def scaled(vnfd: Vnfd, aspect: str, steps: int) -> dict[str, int]:
    """The number of machines that scaling an aspect adds or removes, by VDU.

    :raises ParameterError: if the VNFD has no such aspect
    """
    aspects = {
        name: definition
        for policy in _policies(vnfd, "ScalingAspects")
        for name, definition in policy["properties"]["aspects"].items()
    }
    if aspect not in aspects:
        known = ", ".join(aspects) or "none"
        raise ParameterError([f"aspectId: the VNFD has no aspect {aspect}; it has: {known}"])
    deltas = aspects[aspect].get("step_deltas") or ()
    return {
        vdu: steps * int(policy["properties"]["deltas"][delta]["number_of_instances"])
        for policy in _policies(vnfd, "VduScalingAspectDeltas")
        if policy["properties"]["aspect"] == aspect
        for delta in deltas[:1]  # Tacker uses the first delta for all steps
        for vdu in policy["targets"]
    }


def _policies(vnfd: Vnfd, kind: str) -> Iterator[Mapping[str, Any]]:
    policies = vnfd.get("topology_template", {}).get("policies") or ()
    bodies = (body for policy in policies for body in policy.values())
    return (body for body in bodies if body.get("type") == f"{_POLICIES}{kind}")
