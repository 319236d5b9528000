"""Finds whatever in a package does not fit together, before Tacker does."""

from collections.abc import Set

from tools.csar import check_basehot, check_meta, check_policies, check_userdata, check_vnfd
from tools.csar.contents import Contents
from tools.csar.package import Check, Fault, Package

CHECKS: list[Check] = [
    check_vnfd.imports,
    check_vnfd.flavours,
    check_vnfd.node_types,
    check_vnfd.requirements,
    check_vnfd.software_images,
    check_policies.policies,
    check_basehot.templates,
    check_basehot.parameters,
    check_userdata.classes,
]


def faults(contents: Contents, drivers: Set[str]) -> list[Fault]:
    """Return all faults of a package, given the names of the registered drivers."""
    package = Package(contents)
    found = [fault for check in CHECKS for fault in check(package)]
    return [
        *package.faults,
        *found,
        *check_vnfd.hooks(package, drivers),
        *check_meta.header(package),
    ]


def csar_faults(contents: Contents, drivers: Set[str]) -> list[Fault]:
    """Return all faults of a built CSAR, whose TOSCA.meta has its blocks."""
    return [*faults(contents, drivers), *check_meta.blocks(Package(contents))]
