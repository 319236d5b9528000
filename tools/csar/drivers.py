"""Management drivers as Tacker finds them: entry points of installed distributions."""

from importlib import metadata, util
from pathlib import Path

from tools.csar.errors import CsarError

GROUP = "tacker.tacker.mgmt.drivers"


def names() -> set[str]:
    """Return the names of the registered drivers."""
    return {entry.name for entry in metadata.entry_points(group=GROUP)}


def module_file(name: str) -> Path:
    """Return the file of the registered driver's module, without importing it.

    The module imports Tacker, which need not be here. Tacker compares its own copy of this file
    with the CSAR's, so the bytes which are installed count.

    :raises CsarError: the entry point leads to no file
    """
    (entry, *_) = metadata.entry_points(group=GROUP, name=name)
    relative = Path(*entry.module.split(".")).with_suffix(".py")
    if entry.dist is not None:
        installed = Path(str(entry.dist.locate_file(relative)))
        if installed.is_file():
            return installed
    return _through_importer(entry)


def _through_importer(entry: metadata.EntryPoint) -> Path:
    """Find the module of an editable installation, whose files only the importer knows."""
    try:
        spec = util.find_spec(entry.module)
    except ImportError:
        spec = None
    if spec is None or spec.origin is None:
        raise CsarError(
            f"driver {entry.name}: no module {entry.module}; run 'pip install .' in the checkout"
        )
    return Path(spec.origin)
