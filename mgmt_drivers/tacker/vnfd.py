"""The parts of a VNFD (ETSI SOL001) that the drivers use; Tacker gives the VNFD as dictionaries."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mgmt_drivers import package_yaml
from mgmt_drivers.errors import BadPackage

_CP, _ASPECTS = "tosca.nodes.nfv.VduCp", "tosca.policies.nfv.ScalingAspects"

Vnfd = Mapping[str, Any]


def of_flavour(package: Path, flavour: str) -> Vnfd:
    """Read the VNFD file of a flavour; raises BadPackage or BadFile, naming the file."""
    for path in sorted((package / "Definitions").glob("*.y*ml")):
        document = package_yaml.read(path) or {}
        if not isinstance(document, Mapping):
            raise BadPackage(f"{path.name}: not a mapping, as files in Definitions must be")
        try:
            # A file that has only types describes no flavour.
            mappings = document.get("topology_template", {}).get("substitution_mappings", {})
            if mappings.get("properties", {}).get("flavour_id") == flavour:
                cps(document), aspects(document)  # errors here can name the file
                return document
        except (AttributeError, KeyError, TypeError) as error:
            text = f"{path.name}: its topology_template is not valid (ETSI SOL001): {error}"
            raise BadPackage(text) from error
    raise BadPackage(f"the VNF package has no flavour {flavour}")


def cps(vnfd: Vnfd) -> dict[str, str]:
    """The VDUs by the names of their VduCps."""
    nodes = vnfd.get("topology_template", {}).get("node_templates", {})
    return {name: _vdu(node) for name, node in nodes.items() if node.get("type") == _CP}


def aspects(vnfd: Vnfd) -> frozenset[str]:
    policies = vnfd.get("topology_template", {}).get("policies", ())
    bodies = (body for policy in policies for body in policy.values())
    listed = (body["properties"]["aspects"] for body in bodies if body.get("type") == _ASPECTS)
    return frozenset(name for aspects in listed for name in aspects)


def _vdu(cp: Mapping[str, Any]) -> str:
    bound = [requirement.get("virtual_binding") for requirement in cp.get("requirements", ())]
    # Short and extended notation of TOSCA's requirement assignments.
    vdus = [b["node"] if isinstance(b, Mapping) else b for b in bound if b]
    return str(vdus[0]) if vdus else ""
