"""Labels that tell on which hardware a node runs, for pods to be spread by."""

from collections.abc import Mapping

from mgmt_drivers.inventory import Placement

_HOST = "CIS-node"
# The second is Kubernetes' well-known one ("Well-Known Labels, Annotations and Taints").
_ZONES = ("kubernetes.io/zone", "topology.kubernetes.io/zone")


def labels(placement: Placement) -> dict[str, str]:
    zones = dict.fromkeys(_ZONES, placement.zone) if placement.zone else {}
    return {_HOST: placement.host, **zones}


def without_placement(found: Mapping[str, str]) -> dict[str, str]:
    """The labels that a node takes along when its machine is replaced by another elsewhere."""
    return {key: value for key, value in found.items() if key not in (_HOST, *_ZONES)}
