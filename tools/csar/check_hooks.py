"""Checks of the management drivers in the VNFD against the installed drivers."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.csar import contents
from tools.csar.drivers import SCRIPTS
from tools.csar.package import Fault, Package, mapping

# The operations of Tacker's VnflcmMgmtAbstractDriver, each with a _start and an _end hook.
_OPERATIONS = (
    "instantiate",
    "terminate",
    "scale",
    "heal",
    "change_external_connectivity",
    "modify_information",
)
_MOMENTS = ("start", "end")
HOOKS = frozenset(f"{name}_{moment}" for name in _OPERATIONS for moment in _MOMENTS)
# Further hooks of Tacker's v2 API, the only API with scripts (vnflcm_driver_v2).
_CHANGE = "change_current_package"
_V2_HOOKS = frozenset(
    f"{name}_{moment}"
    for name in (*(f"{name}_rollback" for name in (*_OPERATIONS, _CHANGE)), _CHANGE)
    for moment in _MOMENTS
)

_NODE = "topology_template.node_templates.VNF"


def hooks(package: Package) -> Iterator[Fault]:
    """Check that Tacker calls the hooks, and that an artifact of the node implements each."""
    for flavour in package.flavours:
        vnf = flavour.nodes.get("VNF", {})
        for hook, definition in mapping(vnf, "interfaces", "Vnflcm").items():
            driver = mapping(definition).get("implementation")
            place = f"{_NODE}.interfaces.Vnflcm.{hook}"
            called = HOOKS | _V2_HOOKS if _is_script(vnf, driver) else HOOKS
            if driver is not None and hook not in called:
                yield Fault(flavour.file, place, "not a hook that Tacker calls")
            if hook in _V2_HOOKS and hook not in _declared(package):
                text = "unknown to SOL001: declare it in the node type's interface, empty"
                yield Fault(flavour.file, place, text)
            if driver is not None and str(driver) not in mapping(vnf, "artifacts"):
                yield Fault(flavour.file, place, f"{driver} is not among the node's artifacts")


def _declared(package: Package) -> set[str]:
    """Return the hooks that the package's own node types add to SOL001's."""
    return {
        hook
        for document in package.documents.values()
        for definition in mapping(document, "node_types").values()
        for hook in mapping(definition, "interfaces", "Vnflcm")
    }


def _is_script(vnf: dict[str, Any], driver: Any) -> bool:
    """Whether a driver is a script for Tacker's v2 API."""
    file = mapping(vnf, "artifacts", str(driver)).get("file")
    return isinstance(file, str) and file.startswith(SCRIPTS)


def drivers(package: Package, registered: Mapping[str, Path]) -> Iterator[Fault]:
    """Check that each driver is registered, and that the package has the installed file."""
    for flavour in package.flavours:
        for name, artifact in mapping(flavour.nodes, "VNF", "artifacts").items():
            file = str(mapping(artifact).get("file"))
            if file.startswith(SCRIPTS):
                own = file.removeprefix("../")
                text = "" if own in package.contents else f"no file {own}"
            else:
                text = _wrong(package, mapping(artifact), registered.get(name))
            if text:
                yield Fault(flavour.file, f"{_NODE}.artifacts.{name}", text)


def _wrong(package: Package, artifact: dict[str, Any], installed: Path | None) -> str:
    """Return the error of a driver; empty if there is none."""
    if installed is None:
        return "no such driver is installed; run 'pip install .' in the checkout"
    file = artifact.get("file")
    if file not in package.contents:
        return f"no file {file}"
    if contents.sha256(package.contents[file]) != contents.sha256(installed):
        return f"{file} differs from the installed file, so Tacker refuses it; build the CSAR again"
    return ""
