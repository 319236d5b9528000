"""A package for the checks: its files, the YAML documents among them, and their faults."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from mgmt_drivers import package_yaml
from tools.csar import drivers, toscameta
from tools.csar.contents import Contents, read
from tools.csar.errors import CsarError

VDU = "tosca.nodes.nfv.Vdu.Compute"
STORAGE = "tosca.nodes.nfv.Vdu.VirtualBlockStorage"
VDU_CP = "tosca.nodes.nfv.VduCp"


@dataclass(frozen=True)
class Fault:
    """A fault that would cause an error in Tacker: the file, the place in it, and the text.

    A harmless fault is only a warning: the package works, but with restrictions.
    """

    file: str
    place: str
    text: str
    is_harmless: bool = False

    def __str__(self) -> str:
        return ": ".join(part for part in (self.file, self.place, self.text) if part)


@dataclass(frozen=True)
class Flavour:
    """A deployment flavour: the VNFD file that describes it."""

    id: str
    file: str
    document: dict[str, Any]

    @property
    def nodes(self) -> dict[str, dict[str, Any]]:
        return {
            name: node
            for name, node in mapping(self.document, "topology_template", "node_templates").items()
            if isinstance(node, dict)
        }

    @property
    def has_machines(self) -> bool:
        """Whether the VDUs are machines made from images, and not pods."""
        vdus = self.nodes_of(VDU).values()
        return not vdus or any("sw_image_data" in mapping(vdu, "properties") for vdu in vdus)

    @property
    def has_scripts(self) -> bool:
        """Whether a driver is a script, as only Tacker's v2 API has them."""
        artifacts = mapping(self.nodes, "VNF", "artifacts").values()
        files = (str(mapping(artifact).get("file")) for artifact in artifacts)
        return any(file.startswith(drivers.SCRIPTS) for file in files)

    def nodes_of(self, *types: str) -> dict[str, dict[str, Any]]:
        """Return the nodes of these types by name."""
        return {name: node for name, node in self.nodes.items() if node.get("type") in types}


class Package:
    """A package's files and parsed documents; a file that does not parse becomes a fault."""

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.documents: dict[str, dict[str, Any]] = {}
        self.faults: list[Fault] = []
        for name in sorted(filter(_is_read, contents)):
            self._parse(name)

    @property
    def flavours(self) -> list[Flavour]:
        """The flavours, by substitution_mappings, as Tacker finds them."""
        path = ("topology_template", "substitution_mappings", "properties")
        described = [
            (mapping(document, *path).get("flavour_id"), name, document)
            for name, document in self.documents.items()
        ]
        return [Flavour(str(id_), name, document) for id_, name, document in described if id_]

    @property
    def is_tosca_only(self) -> bool:
        """Whether Tacker makes the templates of the VNFD, as its v1 API does without a BaseHOT."""
        has_template = any(name.startswith(("BaseHOT/", "UserData/")) for name in self.contents)
        return not has_template and not any(flavour.has_scripts for flavour in self.flavours)

    def header(self) -> dict[str, Any]:
        """Return TOSCA.meta's header; empty if it is missing or not readable."""
        source = self.contents.get(toscameta.NAME)
        try:
            return toscameta.parse(read(source).decode())[0] if source else {}
        except (ValueError, CsarError):
            return {}

    def _parse(self, name: str) -> None:
        try:
            document = package_yaml.load(read(self.contents[name]))
        except (package_yaml.BadYaml, CsarError) as error:
            self.faults.append(Fault(name, "", f"not a single YAML document ({_brief(error)})"))
            return
        if isinstance(document, dict):
            self.documents[name] = document
        else:
            self.faults.append(
                Fault(name, "", "not a mapping; Tacker reads every YAML file here as a VNFD")
            )


Check = Callable[[Package], Iterator[Fault]]


def mapping(document: Any, *path: str) -> dict[str, Any]:
    """Return the mapping at ``path``; empty if there is none."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def requirements(node: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give a node template's requirements as name and node name, in either of TOSCA's forms."""
    for requirement in node.get("requirements") or []:
        for name, target in mapping({"it": requirement}, "it").items():
            yield name, target.get("node") if isinstance(target, dict) else target


def _is_read(name: str) -> bool:
    """Say whether Tacker reads this file as YAML: at the root, one folder deep, or a BaseHOT."""
    path = PurePosixPath(name)
    near = len(path.parts) <= 2 or path.parts[0] == "BaseHOT"
    return near and path.suffix in (".yaml", ".yml")


def _brief(error: Exception) -> str:
    return " ".join(str(error).split())
