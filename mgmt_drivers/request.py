"""One request for every operation, whatever API of Tacker it came through."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

INSTANTIATE = "instantiate"  # the operation of a VNF that has no machines, or is retried


@dataclass(frozen=True)
class Vnfc:
    """A VNFC instance as Tacker knows it (ETSI SOL003 VnfcResourceInfo).

    ``server_id`` is its compute resource; ``stack_id`` the stack, perhaps a
    nested one, in which that lies. ``id`` stays when the machine is replaced.
    """

    id: str
    vdu_id: str
    server_id: str
    stack_id: str


@dataclass(frozen=True)
class LcmRequest:
    """The request for an operation, with everything that the drivers may need to know.

    ``additional_params`` are those of the *instantiate* request in every
    operation. ``cps`` maps the VduCps of the VNFD's flavour to their VDUs,
    ``aspects`` are its scaling aspects. ``targets`` are the ids of the VNFCs that the operation is
    about, where it is not about all. ``restore_from`` is what a heal is to restore, as it stands
    in the request; ``keeps_volumes``: Heat keeps the VNF's volumes when it replaces all machines.
    ``aspect`` is the scaling aspect of a scale.
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
