"""Checks of the Heat templates of each flavour against its VNFD and the UserData."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from tools.csar import check_userdata
from tools.csar import package as model
from tools.csar.package import Fault, Flavour, Package, mapping

FOLDER = "BaseHOT"

PORT = "OS::Neutron::Port"
# Heat's resource type, the VNFD node type that must have a node of the same name, and the node
# types that a resource may represent: an address that VMs share is a Cp without a VDU.
_PAIRS = (
    ("OS::Nova::Server", model.VDU, (model.VDU,)),
    (PORT, model.VDU_CP, (model.VDU_CP, "tosca.nodes.nfv.Cp")),
    ("OS::Cinder::Volume", model.STORAGE, (model.STORAGE,)),
)
_MAPPING = "block_device_mapping_v2"
_ATTACHMENT = "OS::Cinder::VolumeAttachment"
# Tacker's StandardUserData numbers the VNFCs: VDU1-0 is the first of VDU1.
_NUMBERED = re.compile(r"-[0-9]+$")
_PARAMETER_NODES = {
    "VDU": (model.VDU, model.STORAGE), "CP": (model.VDU_CP, "tosca.nodes.nfv.Cp"),
    "zones": (model.VDU,),
}  # fmt: skip
_ALWAYS = {"VDU", "CP"}  # in nfv, whatever the UserData


def templates(package: Package) -> Iterator[Fault]:
    """Check that each flavour of machines has one template, with the VNFD's nodes as resources."""
    machines = [flavour for flavour in package.flavours if flavour.has_machines]
    for flavour in [] if package.is_tosca_only else machines:
        top = top_templates(package, flavour)
        if len(top) != 1:
            folder = f"{FOLDER}/{flavour.id}"
            yield Fault(folder, "", f"holds {len(top)} templates that parse, Tacker needs one")
            continue
        yield from _resources(package, flavour, top[0])
    known = {flavour.id for flavour in package.flavours}
    for name in package.documents:
        parts = PurePosixPath(name).parts
        if parts[0] == FOLDER and (len(parts) < 3 or parts[1] not in known):
            yield Fault(name, "", "belongs to no flavour of the VNFD")


def top_templates(package: Package, flavour: Flavour) -> list[str]:
    """Return the names of the flavour's templates that are not nested; there should be one."""
    folder = PurePosixPath(FOLDER, flavour.id)
    return [name for name in package.documents if PurePosixPath(name).parent == folder]


def _resources(package: Package, flavour: Flavour, top: str) -> Iterator[Fault]:
    for heat_type, node_type, admitted in _PAIRS:
        found = {
            name: file
            for file, name, resource in _all_resources(package, flavour)
            if resource.get("type") == heat_type
        }
        for name in flavour.nodes_of(node_type):
            if name not in found:
                yield Fault(top, f"resources.{name}", f"no {heat_type} for the VNFD's {node_type}")
        for name, file in found.items():
            if name not in flavour.nodes_of(*admitted):
                text = f"no {node_type} in {flavour.file}"
                # Neither Tacker nor the drivers need a node for the address that VMs share.
                is_shared = heat_type == PORT and PurePosixPath(file).parent.name != "nested"
                yield Fault(file, f"resources.{name}", text, is_harmless=is_shared)


def parameters(package: Package) -> Iterator[Fault]:
    """Check that UserData provides the parts of the parameter nfv that templates use."""
    provided = check_userdata.provided_keys(package)
    one_by_one = check_userdata.fills_addresses_one_by_one(package)
    for flavour in package.flavours:
        for file, name, resource in _all_resources(package, flavour):
            for path in _nfv_paths(resource):
                is_one = _takes_one_address(path)
                keys = provided | ({check_userdata.ADDRESSES} if is_one and one_by_one else set())
                text = _wrong(flavour, path[:4] if is_one else path, keys)
                if text:
                    yield Fault(file, f"resources.{name}.get_param {path}", text)


def volumes(package: Package) -> Iterator[Fault]:
    """Warn of volumes that a heal of their server cannot keep.

    Heat creates the server that replaces another one while the other one still has the volume. A
    volume from which a server boots can be attached in no other way.
    """
    for flavour in package.flavours:
        for file, name, resource in _all_resources(package, flavour):
            attached = mapping(resource, "properties").get(_MAPPING)
            if isinstance(attached, list) and any(map(_is_data_volume, attached)):
                place = f"resources.{name}.{_MAPPING}"
                text = f"a heal cannot keep the volume: attach it by an {_ATTACHMENT}"
                yield Fault(file, place, text, is_harmless=True)


def _is_data_volume(entry: Any) -> bool:
    return isinstance(entry, dict) and "volume_id" in entry and str(entry.get("boot_index")) != "0"


def nfv_paths(package: Package, flavour: Flavour) -> Iterator[list[Any]]:
    """Give the paths by which the flavour's templates use the parameter nfv."""
    for _, _, resource in _all_resources(package, flavour):
        yield from _nfv_paths(resource)


def _takes_one_address(path: list[Any]) -> bool:
    """Whether a path takes one of the addresses, by number: its address, or its subnet."""
    is_of_list = path[3:4] == [check_userdata.ADDRESSES] and len(path) == 6
    return is_of_list and isinstance(path[4], int) and path[5] in ("ip_address", "subnet")


def _wrong(flavour: Flavour, path: list[Any], provided: set[str]) -> str:
    """Return the error of a path into nfv; empty if the path is right."""
    if len(path) == 2:
        return "" if path[1] in provided else f"no UserData provides {path[1]}"
    if len(path) != 4 or path[1] not in _PARAMETER_NODES:
        return "is not of the form [nfv, VDU or CP or zones, name, key] or [nfv, key]"
    _, kind, name, key = path
    name = _NUMBERED.sub("", str(name))
    node = flavour.nodes_of(*_PARAMETER_NODES[kind]).get(name)
    if node is None:
        return f"{flavour.file} has no {kind} {name}"
    for word in (kind, key):
        if word not in _ALWAYS | provided:
            return f"no UserData provides {word}"
    if key == "image" and not mapping(node, "properties", "sw_image_data").get("name"):
        return f"{flavour.file} names no sw_image_data for {name}"
    return ""


def _all_resources(
    package: Package, flavour: Flavour
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Give the resources of all the flavour's templates: file, name, resource."""
    for file, document in package.documents.items():
        if PurePosixPath(FOLDER, flavour.id) in PurePosixPath(file).parents:
            for name, resource in mapping(document, "resources").items():
                if isinstance(resource, dict):
                    yield file, name, resource


def _nfv_paths(value: Any) -> Iterator[list[Any]]:
    """Give each get_param list that starts with nfv, at any depth."""
    if isinstance(value, dict):
        path = value.get("get_param")
        if isinstance(path, list) and path and path[0] == "nfv":
            yield path
        for item in value.values():
            yield from _nfv_paths(item)
    elif isinstance(value, list):
        for item in value:
            yield from _nfv_paths(item)
