"""Flavours that are similar to a base flavour: a package has only the differences.

A package's file ``flavours.yaml`` names the base of each such flavour. The flavour gets a copy of
each file of its base, and the package's own files for the flavour are laid over the copies.
"""

from pathlib import PurePosixPath
from typing import Any

from tools.csar import contents
from tools.csar.contents import Contents, Source
from tools.csar.errors import CsarError
from tools.csar.package import Package

DECLARATION = "flavours.yaml"


def copies(package: Contents, declaration: Source) -> Contents:
    """Return the files that flavours get from their bases, under their own names.

    :raises CsarError: the declaration is not valid, or does not fit the package
    """
    copied: Contents = {}
    for flavour, base in _declared(declaration).items():
        files = _files(package, base)
        if not files:
            raise CsarError(
                f"{declaration}: {flavour} cannot be like {base}, of which the package has no "
                "file: name a flavour of which it has all"
            )
        copied |= _copy(files, base, flavour)
    return copied


def _declared(declaration: Source) -> dict[str, str]:
    declared = contents.parse(declaration)
    if not isinstance(declared, dict) or not all(
        isinstance(id_, str) for pair in declared.items() for id_ in pair
    ):
        raise CsarError(f"{declaration}: must have lines 'flavour: the flavour that it is like'")
    for flavour, base in declared.items():
        if base in declared:
            raise CsarError(
                f"{declaration}: {flavour} cannot be like {base}, which is like another: "
                "name a flavour of which the package has all files"
            )
    return declared


def _files(package: Contents, flavour: str) -> Contents:
    """Return a flavour's files: its VNFD and its BaseHOT."""
    vnfds = {found.file for found in Package(package).flavours if found.id == flavour}
    return {
        name: source
        for name, source in package.items()
        if name in vnfds or name.startswith(f"BaseHOT/{flavour}/")
    }


def _copy(files: Contents, base: str, flavour: str) -> Contents:
    """Copy files; in the copies, the names of files and of the flavour are replaced."""
    new_names = {name: name.replace(base, flavour) for name in files}
    renamed = {PurePosixPath(old).name: PurePosixPath(new).name for old, new in new_names.items()}
    copied: Contents = {}
    for old, new in new_names.items():
        if old == new:
            raise CsarError(
                f"{files[old]}: {flavour} needs a copy of another name: rename the file so that "
                f"{base} is in its name"
            )
        copied[new] = files[old]
        if contents.is_yaml(old):
            document = contents.parse(files[old])
            copied[new] = contents.render(new, _renamed(document, {**renamed, base: flavour}))
    return copied


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Replace each string that is one of ``names``, at any depth."""
    if isinstance(value, dict):
        return {key: _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value
