"""Checks of requirements of the Kubernetes driver, besides Tacker's requirements."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from mgmt_drivers.cluster.cluster_params import DEFAULT_CNI_MANIFEST
from mgmt_drivers.cluster.packages.script_params import UNDECLARED, declares_contract
from tools.csar import check_basehot, contents
from tools.csar.check_policies import Policies
from tools.csar.package import Fault, Flavour, Package, mapping

MODULE = "kubernetes_mgmt.py"  # for Tacker's v1 API
_MODULES = (MODULE, "kubernetes_v2.py")
_SCRIPTS = "Scripts/"
_GROUP = "OS::Heat::AutoScalingGroup"


def flavours(package: Package) -> list[Flavour]:
    """Return the flavours with the Kubernetes driver."""
    return [flavour for flavour in package.flavours if driver_of(flavour)]


def driver_of(flavour: Flavour) -> str:
    """Return the name of the driver in a flavour; empty if the flavour does not have the driver."""
    artifacts = mapping(flavour.nodes, "VNF", "artifacts")
    named = {name: str(mapping(value).get("file")) for name, value in artifacts.items()}
    files = {name: PurePosixPath(file).name for name, file in named.items()}
    return next((name for name, file in files.items() if file in _MODULES), "")


def scripts(package: Package) -> list[str]:
    """Return the package's scripts that declare the contract, which requests can name."""
    return [name for name in _shell(package) if declares_contract(_text(package, name))]


def contract(package: Package) -> Iterator[Fault]:
    """Check that a script declares the driver's contract, since scripts install the packages."""
    if flavours(package) and not scripts(package):
        for name in _shell(package) or [_SCRIPTS]:
            yield Fault(name, "", UNDECLARED)


def pod_network(package: Package) -> Iterator[Fault]:
    """Check that the package has the default pod network, which requests need not name."""
    if flavours(package) and DEFAULT_CNI_MANIFEST not in package.contents:
        text = "missing: each request must name another file in cni_manifest_path"
        yield Fault(DEFAULT_CNI_MANIFEST, "", text, is_harmless=True)


def hooks(package: Package) -> Iterator[Fault]:
    """Check that requests are validated before machines exist."""
    for flavour in flavours(package):
        known = mapping(flavour.nodes, "VNF", "interfaces", "Vnflcm")
        if not mapping(known, "instantiate_start").get("implementation"):
            place = "topology_template.node_templates.VNF.interfaces.Vnflcm.instantiate_start"
            text = "missing: the driver checks a request only when the machines exist"
            yield Fault(flavour.file, place, text, is_harmless=True)


def sizes(package: Package) -> Iterator[Fault]:
    """Check that Tacker can set the number of machines."""
    for flavour in flavours(package):
        for top in check_basehot.top_templates(package, flavour):
            for group, size in fixed_sizes(package.documents[top]):
                place = f"resources.{group}.properties.desired_capacity"
                text = (
                    f"is {size}, whatever instantiationLevelId says, and the rollback of a "
                    f"scale-out returns to it; take a parameter {group}_desired_capacity"
                )
                yield Fault(top, place, text, is_harmless=True)


def pools(package: Package) -> Iterator[Fault]:
    """Check that each group of nodes is scaled alone, as Tacker's v1 API does it by its name."""
    for flavour in flavours(package):
        own, scaled = Policies.of(flavour), dict[str, str]()
        for aspect, vdu in own.scaled():
            if scaled.setdefault(aspect, vdu) != vdu:
                text = f"scales {scaled[aspect]} and {vdu}: each VDU needs an aspect of its own"
                yield own.fault(f"ScalingAspects.aspects.{aspect}", text)
        for top in [] if flavour.has_scripts else check_basehot.top_templates(package, flavour):
            resources = mapping(package.documents[top], "resources")
            for name in own.aspects:
                if mapping(resources, name).get("type") != _GROUP:
                    text = f"no {_GROUP} for the VNFD's scaling aspect"
                    yield Fault(top, f"resources.{name}", text)


def fixed_sizes(template: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Give the scaling groups of a template that have a number for their size, and the number."""
    for name, resource in mapping(template, "resources").items():
        size = mapping(resource, "properties").get("desired_capacity")
        if mapping(resource).get("type") == _GROUP and isinstance(size, int):
            yield name, size


def _shell(package: Package) -> list[str]:
    return [n for n in package.contents if n.startswith(_SCRIPTS) and n.endswith(".sh")]


def _text(package: Package, name: str) -> str:
    return contents.read(package.contents[name]).decode(errors="replace")
