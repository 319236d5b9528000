"""Checks of the VNFD by itself and against the package's files."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from tools.csar import check_userdata, toscameta
from tools.csar import package as model
from tools.csar.package import Fault, Flavour, Package, mapping

OPTIONAL = "occurrences: [ 0, UNBOUNDED ]"  # what makes a requirement optional
_SW_IMAGE = "tosca.artifacts.nfv.SwImage"
# Required properties of a tosca.nodes.nfv.VNF and of a SwImageData (SOL001 2.6.1).
_VNF_PROPERTIES = (
    "descriptor_id",
    "descriptor_version",
    "provider",
    "product_name",
    "software_version",
    "vnfm_info",
    "flavour_id",
    "flavour_description",
)
_IMAGE_DATA = ("name", "version", "checksum", "container_format", "disk_format", "min_disk", "size")
_REQUIREMENT_TARGETS = {
    "virtual_binding": model.VDU,
    "virtual_link": "tosca.nodes.nfv.VnfVirtualLink",
    "virtual_storage": model.STORAGE,
}


def imports(package: Package) -> Iterator[Fault]:
    """Check that imported files are in the package."""
    for name, document in package.documents.items():
        folder = PurePosixPath(name).parent
        for target in document.get("imports") or []:
            local = isinstance(target, str) and "://" not in target
            if local and str(folder / target) not in package.contents:
                yield Fault(name, "imports", f"no file {folder / target}")


def flavours(package: Package) -> Iterator[Fault]:
    """Check that there are flavours, each only once, with all keys that Tacker needs."""
    if not package.flavours:
        yield Fault("Definitions", "", "no file has substitution_mappings with a flavour_id")
    files: dict[str, str] = {}
    for flavour in package.flavours:
        if flavour.id in files:
            yield Fault(flavour.file, "", f"flavour {flavour.id} is in {files[flavour.id]} too")
        files[flavour.id] = flavour.file
        yield from _flavour(flavour)
        yield from _inputs(flavour)
    yield from _reachable(package)


def _flavour(flavour: Flavour) -> Iterator[Fault]:
    topology = mapping(flavour.document, "topology_template")
    for key in ("inputs", "substitution_mappings.requirements", "node_templates"):
        *path, last = key.split(".")
        if not isinstance(mapping(topology, *path).get(last), dict):
            yield Fault(flavour.file, f"topology_template.{key}", "no mapping; Tacker needs one")
    if "VNF" not in flavour.nodes:
        yield Fault(flavour.file, "topology_template.node_templates.VNF", "missing")
    external = mapping(topology, "substitution_mappings", "requirements")
    for name, target in external.items():
        if not isinstance(target, list) or not target or target[0] not in flavour.nodes:
            place = f"topology_template.substitution_mappings.requirements.{name}"
            yield Fault(flavour.file, place, f"no node {target}")


def _inputs(flavour: Flavour) -> Iterator[Fault]:
    """Check that required properties of the node type are inputs, as tosca-parser requires."""
    inputs = mapping(flavour.document, "topology_template", "inputs")
    for name in _VNF_PROPERTIES:
        if name not in inputs:
            yield Fault(flavour.file, f"topology_template.inputs.{name}", "missing")


def _reachable(package: Package) -> Iterator[Fault]:
    """Check that the top VNFD imports every flavour."""
    entry = str(package.header().get(toscameta.ENTRY))
    imported = package.documents.get(entry, {}).get("imports") or []
    for flavour in package.flavours:
        if PurePosixPath(flavour.file).name not in imported and flavour.file != entry:
            yield Fault(entry, "imports", f"{flavour.file} is missing")


def node_types(package: Package) -> Iterator[Fault]:
    """Check that the VNF's node type allows all flavours and requires no link."""
    for name, document in package.documents.items():
        for type_name, definition in vnf_types(document):
            place = f"node_types.{type_name}"
            yield from _flavour_ids(package, name, place, definition)
            yield from _optional_links(name, place, definition)


def vnf_types(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The node types of VNFs that a document defines, by name."""
    for name, definition in mapping(document, "node_types").items():
        if mapping(definition).get("derived_from") == "tosca.nodes.nfv.VNF":
            yield name, definition


def _flavour_ids(
    package: Package, file: str, place: str, definition: dict[str, Any]
) -> Iterator[Fault]:
    constraints = mapping(definition, "properties", "flavour_id").get("constraints") or []
    declared = {flavour.id for flavour in package.flavours}
    for constraint in constraints:
        allowed = mapping(constraint).get("valid_values")
        if allowed is not None and set(allowed) != declared:
            yield Fault(
                file,
                f"{place}.properties.flavour_id.constraints",
                f"allows {sorted(allowed)}, the flavours are {sorted(declared)}",
                is_harmless=declared < set(allowed),
            )


def _optional_links(file: str, place: str, definition: dict[str, Any]) -> Iterator[Fault]:
    """Check that links are optional, since Tacker removes them from substitution_mappings."""
    for _, name in required_links(definition):
        text = f"without '{OPTIONAL}' tosca-parser refuses the VNFD"
        yield Fault(file, f"{place}.requirements.{name}", text)


def required_links(definition: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """The requirements of a node type that are not optional: places in the list, and names."""
    for place, requirement in enumerate(definition.get("requirements") or []):
        for name, link in mapping(requirement).items():
            if mapping(link).get("occurrences") != [0, "UNBOUNDED"]:
                yield place, name


def requirements(package: Package) -> Iterator[Fault]:
    """Check that requirements of node templates name nodes of the right type."""
    for flavour in package.flavours:
        for name, node in flavour.nodes.items():
            place = f"topology_template.node_templates.{name}.requirements"
            found = list(model.requirements(node))
            for requirement, target in found:
                wanted = _REQUIREMENT_TARGETS.get(requirement)
                left_open = requirement == "virtual_link" and target is None
                if wanted and not left_open and target not in flavour.nodes_of(wanted):
                    text = f"no {wanted} named {target}"
                    yield Fault(flavour.file, f"{place}.{requirement}", text)
            if node.get("type") == model.VDU_CP:
                for missing in sorted({"virtual_binding", "virtual_link"} - dict(found).keys()):
                    text = "missing; a virtual_link left open needs its key all the same"
                    yield Fault(flavour.file, f"{place}.{missing}", text)


def software_images(package: Package) -> Iterator[Fault]:
    """Check that images are described, and that images in the package have their files."""
    for flavour in package.flavours:
        for name, node in flavour.nodes_of(model.VDU, model.STORAGE).items():
            place = f"topology_template.node_templates.{name}"
            for key, file in images_of(node).items():
                yield from _carried(package, flavour, f"{place}.artifacts.{key}", file)
            data = mapping(node, "properties").get("sw_image_data")
            for key in _IMAGE_DATA if data is not None else ():
                if not mapping(data).get(key):
                    yield Fault(flavour.file, f"{place}.properties.sw_image_data.{key}", "missing")


def images_of(node: dict[str, Any]) -> dict[str, str]:
    """Return the files of a node's artifacts that Tacker treats as images, by their keys."""
    found = mapping(node, "artifacts")
    files = {key: value for key, value in found.items() if isinstance(value, str)}
    typed = {key: mapping(value) for key, value in found.items()}
    images = {key: value for key, value in typed.items() if value.get("type") == _SW_IMAGE}
    return files | {key: str(value.get("file")) for key, value in images.items()}


def _carried(package: Package, flavour: Flavour, place: str, file: str) -> Iterator[Fault]:
    """Give the fault of an image in the package: uploaded for each VNF, or without a file."""
    inside = file.lstrip("./")  # as Tacker finds it
    if inside not in package.contents and "://" not in file:
        yield Fault(flavour.file, place, f"no file {inside}")
        return
    if package.is_tosca_only:
        return  # which takes no other image
    text = "makes Tacker upload to Glance for each VNF; name the image in sw_image_data only"
    if not check_userdata.takes_images_by_id(package):
        text += (
            ", or take its id from the grant in UserData (utils.create_vdu_image_dict): Heat "
            "refuses the name that a second VNF's image has, too"
        )
    yield Fault(flavour.file, place, text, is_harmless=True)
