"""Management drivers, which Tacker finds as entry points of installed distributions."""

from importlib import metadata, util
from pathlib import Path

import mgmt_drivers
from tools.csar.contents import Contents

GROUP = "tacker.tacker.mgmt.drivers"
SCRIPTS = "../Scripts/"  # the folder of scripts, relative to Definitions/
_CORE = Path(mgmt_drivers.__file__).parent
_KINDS = (".py", ".sh", ".yaml")  # with what is sent to machines
# Modules that only Tacker's v1 API uses.
_V1 = {
    "tacker/addresses.py", "tacker/v1.py", "tacker/vims_v1.py", "kubernetes_mgmt.py",
    "private_registry_mgmt.py",
}  # fmt: skip
_TESTS = {"tests", "testing"}


def script(name: str) -> Contents:
    """Return a script for Tacker's v2 API and the modules that it needs, by their names in a CSAR.

    The result is empty if there is no such script.
    """
    if not (_CORE / name).is_file():
        return {}
    modules = {p.relative_to(_CORE): p for p in sorted(_CORE.rglob("*")) if p.suffix in _KINDS}
    core = {
        f"Scripts/{_CORE.name}/{relative.as_posix()}": path
        for relative, path in modules.items()
        if relative.parts[0] not in _TESTS and relative.as_posix() not in _V1
    }
    return {f"Scripts/{name}": _CORE / name, **core}


def registered() -> dict[str, Path]:
    """Return the module file of each registered driver by name; a driver without one is left out.

    Tacker compares the module that it loaded with the CSAR's copy, so these are the installed
    files, not the files of the checkout. The modules are not imported: they need Tacker, which may
    be missing.
    """
    files = {entry.name: _module_file(entry) for entry in metadata.entry_points(group=GROUP)}
    return {name: path for name, path in files.items() if path is not None}


def _module_file(entry: metadata.EntryPoint) -> Path | None:
    relative = Path(*entry.module.split(".")).with_suffix(".py")
    if entry.dist is not None:
        installed = Path(str(entry.dist.locate_file(relative)))
        if installed.is_file():
            return installed
    return _editable(entry.module)


def _editable(module: str) -> Path | None:
    """Find a module of an editable installation, whose files only its importer knows."""
    try:
        spec = util.find_spec(module)
    except ImportError:
        return None
    return Path(spec.origin) if spec and spec.origin else None
