"""One request for every operation, whatever API of Tacker it came through."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from mgmt_drivers.errors import InventoryError
from mgmt_drivers.secret import Secret

_OPENSTACK_V2 = "ETSINFV.OPENSTACK_KEYSTONE.V_3"


@dataclass(frozen=True)
class VimAccess:
    """How to reach the Heat that holds the VNF's stack (Keystone v3)."""

    auth_url: str
    username: str
    password: Secret
    project_name: str
    user_domain_name: str = "Default"
    project_domain_name: str = "Default"
    region: str | None = None
    verify: bool = True


@dataclass(frozen=True)
class Vnfc:
    """A VNFC instance as Tacker knows it (ETSI SOL003 VnfcResourceInfo).

    ``server_id`` is its compute resource; ``stack_id`` the stack, perhaps a
    nested one, in which that lies. ``id`` stays when the machine is replaced;
    ``resource_id`` is the entry's own, where that differs.
    """

    id: str
    vdu_id: str
    server_id: str
    stack_id: str
    resource_id: str = ""


@dataclass(frozen=True)
class LcmRequest:
    """What a driver is asked to do, with all that it may need to know.

    ``additional_params`` are those of the *instantiate* request in every
    operation. ``cps`` maps the VduCps of the VNFD's flavour to their VDUs,
    ``aspects`` are its scaling aspects. ``targets`` are the ids of the VNFCs that the operation is
    about, where it is not about all. ``host_keys`` maps server ids to the SSH
    host keys seen before.
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
    vim: VimAccess | None = None
    host_keys: Mapping[str, str] = field(default_factory=dict)


def from_v1(
    operation: str,
    vnf_instance: Any,
    additional_params: Mapping[str, Any],
    vnfd: Mapping[str, Any],
    package: Path,
    **more: Any,
) -> LcmRequest:
    """Build the request from the objects of Tacker's v1 API.

    :param vnf_instance: ``tacker.objects.VnfInstance``
    :param vnfd: the VNFD of the instance's flavour, as a dictionary
    :param package: folder of the onboarded VNF package
    :param more: fields of :class:`LcmRequest` to be set besides
    """
    info = vnf_instance.instantiated_vnf_info
    return LcmRequest(
        operation=operation,
        vnf_instance_id=vnf_instance.id,
        package=package,
        cps=_cps(vnfd),
        aspects=_aspects(vnfd),
        additional_params=additional_params or {},
        stack_id=(info.instance_id or "") if info else "",
        vnfcs=tuple(_vnfc(vnfc) for vnfc in info.vnfc_resource_info or ()) if info else (),
        **more,
    )


def from_v2(
    operation: str,
    instance: Mapping[str, Any],
    additional_params: Mapping[str, Any],
    package: Path,
    **more: Any,
) -> LcmRequest:
    """Build the request from what Tacker's v2 API gives a script.

    :param instance: VnfInstance as of ETSI SOL003 3.3.1, 5.5.2.2
    :param package: folder of the VNF package
    :param more: fields of :class:`LcmRequest` to be set besides; ``flavour`` must be
    """
    vnfd = _vnfd(package, more["flavour"])
    info = instance.get("instantiatedVnfInfo") or {}
    return LcmRequest(
        operation=operation,
        vnf_instance_id=instance["id"],
        package=package,
        cps=_cps(vnfd),
        aspects=_aspects(vnfd),
        additional_params=additional_params,
        stack_id=_short(info.get("metadata", {}).get("stack_id", "")),
        vnfcs=tuple(vnfcs_from_v2(instance)),
        vim=_vim_access_from_v2(instance),
        **more,
    )


def vnfcs_from_v2(instance: Mapping[str, Any]) -> list[Vnfc]:
    """The VNFCs, known by their places: VDU and index, which outlive their machines."""
    info = instance.get("instantiatedVnfInfo") or {}
    return [_vnfc_from_v2(vnfc) for vnfc in info.get("vnfcResourceInfo", ())]


def _vnfc_from_v2(vnfc: Mapping[str, Any]) -> Vnfc:
    metadata = vnfc.get("metadata", {})
    index = metadata.get("vdu_idx")
    return Vnfc(
        id=vnfc["vduId"] if index is None else f"{vnfc['vduId']}-{index}",
        vdu_id=vnfc["vduId"],
        server_id=vnfc["computeResource"]["resourceId"],
        stack_id=_short(metadata.get("stack_id", "")),
        resource_id=vnfc["id"],
    )


def _short(stack_id: str) -> str:
    """A stack's id alone, where Tacker writes <name>/<id>."""
    return stack_id.rpartition("/")[2]


def _vnfd(package: Path, flavour: str) -> Mapping[str, Any]:
    """The VNFD file of a flavour."""
    for path in sorted((package / "Definitions").glob("*.y*ml")):
        document = yaml.safe_load(path.read_text())
        mappings = document.get("topology_template", {}).get("substitution_mappings", {})
        if mappings.get("properties", {}).get("flavour_id") == flavour:
            found: Mapping[str, Any] = document
            return found
    raise InventoryError(f"the VNF package has no flavour {flavour}")


def _vim_access_from_v2(instance: Mapping[str, Any]) -> VimAccess | None:
    """The OpenStack among the instance's VIMs (VimConnectionInfo, SOL003 4.4.1.6)."""
    vims = (instance.get("vimConnectionInfo") or {}).values()
    found = [vim for vim in vims if vim.get("vimType") == _OPENSTACK_V2]
    if not found:
        return None
    access, interface = found[0]["accessInfo"], found[0].get("interfaceInfo") or {}
    return VimAccess(
        auth_url=interface["endpoint"],
        username=access["username"],
        password=Secret(access["password"]),
        project_name=access["project"],
        user_domain_name=access.get("userDomain") or "Default",
        project_domain_name=access.get("projectDomain") or "Default",
        region=access.get("region"),
        verify=not interface.get("skipCertificateVerification", False),
    )


def vim_access_from_v1(vim: Mapping[str, Any]) -> VimAccess:
    """``vim`` as Tacker's VimClient returns it, its password decrypted."""
    auth = vim["vim_auth"]
    return VimAccess(
        auth_url=auth["auth_url"],
        username=auth["username"],
        password=Secret(auth["password"]),
        project_name=auth["project_name"],
        user_domain_name=auth.get("user_domain_name") or "Default",
        project_domain_name=auth.get("project_domain_name") or "Default",
        region=auth.get("region"),
        verify=str(auth.get("cert_verify", "True")).lower() == "true",
    )


def _cps(vnfd: Mapping[str, Any]) -> dict[str, str]:
    nodes = vnfd.get("topology_template", {}).get("node_templates", {})
    kind = "tosca.nodes.nfv.VduCp"
    return {name: _vdu(node) for name, node in nodes.items() if node.get("type") == kind}


def _vdu(cp: Mapping[str, Any]) -> str:
    """The VDU that a VduCp is bound to."""
    bound = [requirement.get("virtual_binding") for requirement in cp.get("requirements", ())]
    # Short and extended notation of TOSCA's requirement assignments.
    found = [b["node"] if isinstance(b, Mapping) else b for b in bound if b]
    return str(found[0]) if found else ""


def _aspects(vnfd: Mapping[str, Any]) -> frozenset[str]:
    kind = "tosca.policies.nfv.ScalingAspects"
    policies = vnfd.get("topology_template", {}).get("policies", ())
    bodies = (body for policy in policies for body in policy.values())
    found = (body["properties"]["aspects"] for body in bodies if body.get("type") == kind)
    return frozenset(name for aspects in found for name in aspects)


def _vnfc(vnfc: Any) -> Vnfc:
    return Vnfc(
        id=vnfc.id,
        vdu_id=vnfc.vdu_id,
        server_id=vnfc.compute_resource.resource_id,
        stack_id=(vnfc.metadata or {}).get("stack_id", ""),
    )
