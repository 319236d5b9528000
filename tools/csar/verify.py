"""Finds the faults of a package before Tacker does."""

from collections.abc import Mapping
from pathlib import Path

from tools.csar import (
    check_basehot,
    check_heat,
    check_hooks,
    check_kubernetes,
    check_meta,
    check_policies,
    check_tosca,
    check_userdata,
    check_vnfd,
)
from tools.csar.contents import Contents
from tools.csar.package import Check, Fault, Package

CHECKS: list[Check] = [
    check_meta.header,
    check_vnfd.imports,
    check_vnfd.flavours,
    check_vnfd.node_types,
    check_vnfd.requirements,
    check_vnfd.software_images,
    check_hooks.hooks,
    check_policies.policies,
    check_tosca.nodes,
    check_basehot.templates,
    check_basehot.parameters,
    check_basehot.volumes,
    check_heat.templates,
    check_userdata.classes,
    check_kubernetes.contract,
    check_kubernetes.hooks,
    check_kubernetes.pod_network,
    check_kubernetes.pools,
    check_kubernetes.sizes,
]


def faults(contents: Contents, drivers: Mapping[str, Path], is_built: bool = False) -> list[Fault]:
    """Return all faults of a package, given the installed drivers' files by name.

    :param is_built: the package is a CSAR, whose TOSCA.meta has its blocks
    """
    package = Package(contents)
    found = [fault for check in CHECKS for fault in check(package)]
    found = [*package.faults, *found, *check_hooks.drivers(package, drivers)]
    return [*found, *check_meta.blocks(package)] if is_built else found
