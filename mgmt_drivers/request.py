"""The request of an operation, the same for both APIs of Tacker."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Operations that make machines of the whole VNF, and their retries.
INSTANTIATE, HEAL = "instantiate", "heal"


@dataclass(frozen=True)
class Vnfc:
    """A VNFC instance in Tacker (ETSI SOL003 VnfcResourceInfo).

    ``server_id`` is its compute resource; ``stack_id`` the stack of the server, which may be
    nested. ``id`` stays when the machine is replaced.
    """

    id: str
    vdu_id: str
    server_id: str
    stack_id: str


@dataclass(frozen=True)
class LcmRequest:
    """The request of an operation, with all of Tacker's data that the drivers need.

    ``additional_params`` are the parameters of the *instantiate* request in every operation.
    ``cps`` maps the VduCps of the VNFD's flavour to their VDUs, ``aspects`` are its scaling
    aspects. ``targets`` are the ids of the targeted VNFCs, unless the operation is about the whole
    VNF. ``restore_from`` is the value of this parameter in a heal request. ``keeps_volumes``: Heat
    keeps the VNF's volumes when it replaces all machines. ``aspect`` is the scaling aspect of a
    scale operation. ``is_automatic``: Tacker itself has begun the operation, and nobody sent a
    request (isAutomaticInvocation of ETSI SOL003 9.5.2.2).
    """

    operation: str
    vnf_instance_id: str
    package: Path
    cps: Mapping[str, str]
    additional_params: Mapping[str, Any] = field(repr=False)
    flavour: str = ""
    aspects: frozenset[str] = frozenset()
    stack_id: str = ""
    vnfcs: tuple[Vnfc, ...] = ()
    targets: frozenset[str] = frozenset()
    restore_from: Any = None
    keeps_volumes: bool = True
    aspect: str = ""
    is_automatic: bool = False
