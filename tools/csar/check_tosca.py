"""Checks of packages without BaseHOT and UserData: Tacker's v1 API translates the VNFD itself.

heat-translator makes one machine of each VDU, with a flavor of the VDU's sizes, and an image that
Tacker has uploaded.
"""

from collections.abc import Iterator

from tools.csar import check_vnfd
from tools.csar import package as model
from tools.csar.package import Fault, Flavour, Package, mapping

_CP = "tosca.nodes.nfv.Cp"
_ASPECTS = "tosca.policies.nfv.ScalingAspects"
_NODES = "topology_template.node_templates"


def nodes(package: Package) -> Iterator[Fault]:
    """Check that Tacker and heat-translator take the nodes and policies."""
    if not package.is_tosca_only:
        return
    for flavour in package.flavours:
        if not flavour.has_machines:
            continue
        for name in flavour.nodes_of(_CP):
            text = f"heat-translator knows no {_CP}, such as a virtual IP, which needs a BaseHOT"
            yield Fault(flavour.file, f"{_NODES}.{name}", text)
        yield from _images(flavour)
        yield from _open_links(flavour)
        yield from _aspects(flavour)


def _images(flavour: Flavour) -> Iterator[Fault]:
    for name, vdu in flavour.nodes_of(model.VDU).items():
        if not check_vnfd.images_of(vdu):
            text = (
                "no image: without a BaseHOT Tacker takes no image of the cloud, but a file of the "
                "package, which Tacker uploads for each VNF"
            )
            yield Fault(flavour.file, f"{_NODES}.{name}.artifacts", text)


def _open_links(flavour: Flavour) -> Iterator[Fault]:
    for name, cp in flavour.nodes_of(model.VDU_CP).items():
        for requirement in cp.get("requirements") or []:
            if mapping(requirement).get("virtual_link", {}) is None:
                text = (
                    "empty: without a BaseHOT Tacker makes the text None of the empty value; leave "
                    "the link open by 'virtual_link: {}'"
                )
                yield Fault(flavour.file, f"{_NODES}.{name}.requirements.virtual_link", text)


def _aspects(flavour: Flavour) -> Iterator[Fault]:
    for entry in mapping(flavour.document, "topology_template").get("policies") or []:
        for name in mapping(entry):
            if mapping(entry, name).get("type") == _ASPECTS:
                text = "no use: without a BaseHOT Tacker ends a request to scale in an error"
                place = f"topology_template.policies.{name}"
                yield Fault(flavour.file, place, text, is_harmless=True)
