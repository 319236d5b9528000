"""Variants of packages: a package with changes.

An overlay is a folder with the tree of a package. A YAML file that the package has is merged with
the package's file, any other file is added. A folder with a file ``variant.yaml`` is an overlay of
the package that the file names as ``base``, without the files or folders that the file lists in
``without``. Flavours that are similar to another are completed when a package has all its own
files, before overlays are laid over the package.
"""

from pathlib import Path
from typing import Any

from tools.csar import contents, flavours
from tools.csar.contents import Contents, InMemory, Source
from tools.csar.errors import CsarError

VARIANT = "variant.yaml"


def of_package(folder: Path) -> Contents:
    """Return the files of a package, or of a variant, complete in every flavour.

    :raises CsarError: a variant or a flavour does not fit its base
    """
    sources = _sources(folder)
    declaration = sources.pop(flavours.DECLARATION, None)
    return _laid(flavours.copies(sources, declaration), sources) if declaration else sources


def _sources(folder: Path) -> Contents:
    own = contents.of_folder(folder)
    variant = own.pop(VARIANT, None)
    if variant is None:
        return own
    wanted = contents.parse(variant)
    if not isinstance(wanted, dict) or not isinstance(wanted.get("base"), str):
        raise CsarError(f"{folder / VARIANT}: must name a package's folder as base")
    if not contents.is_ours(folder / wanted["base"]):
        raise CsarError(
            f"{folder / VARIANT}: base {wanted['base']} does not lie in {contents.CHECKOUT}, or is "
            "hidden"
        )
    base = _sources(folder / wanted["base"])
    unwanted = tuple(wanted.get("without", ()))
    for path in unwanted:
        if not any(_lies_in(name, path) for name in base):
            raise CsarError(f"{folder / VARIANT}: {wanted['base']} has no {path}")
    kept = {name: f for name, f in base.items() if not any(_lies_in(name, p) for p in unwanted)}
    return _laid(kept, own)


def _lies_in(name: str, path: str) -> bool:
    return name == path or name.startswith(f"{path}/")


def lay(base: Contents, overlay: Path) -> Contents:
    """Return the package's files with those of the overlay.

    :raises CsarError: a file of the package is not YAML, or does not fit
    """
    return _laid(base, contents.of_folder(overlay))


def _laid(base: Contents, additions: Contents) -> Contents:
    result = dict(base)
    for name, source in additions.items():
        result[name] = _merged(name, base[name], source) if name in base else source
    return result


def _merged(name: str, base: Source, addition: Source) -> InMemory:
    if not contents.is_yaml(name):
        raise CsarError(f"{addition}: the package has {name} already, and only YAML can be merged")
    return contents.render(name, merge(contents.parse(base), contents.parse(addition)))


def merge(base: Any, addition: Any) -> Any:
    """Merge mappings by key and join lists; any other value is replaced by the addition.

    An item that is a named mapping, such as a policy, is merged with an item of the same name.
    """
    if isinstance(base, dict) and isinstance(addition, dict):
        merged = {key: merge(base[key], value) for key, value in addition.items() if key in base}
        return {**base, **addition, **merged}
    if isinstance(base, list) and isinstance(addition, list):
        named = {name: item for item in addition if (name := _name(item))}
        known = {name for item in base if (name := _name(item))}
        joined = [merge(item, named.get(_name(item), {})) if _name(item) else item for item in base]
        return [*joined, *(item for item in addition if _name(item) not in known)]
    return addition


def _name(item: Any) -> str:
    """Return the name of a named mapping; empty if the item is none."""
    if not isinstance(item, dict) or len(item) != 1:
        return ""
    ((name, value),) = item.items()
    return str(name) if isinstance(value, dict) else ""
