"""Checks of TOSCA.meta against the files of the package."""

from collections.abc import Iterator
from typing import Any

from tools.csar import contents, toscameta
from tools.csar.package import Fault, Package

_AUTHOR = "Created-By"  # required by SOL004, not read by Tacker
_HEADER_KEYS = ("TOSCA-Meta-File-Version", "CSAR-Version", _AUTHOR, toscameta.ENTRY)


def header(package: Package) -> Iterator[Fault]:
    """Check that the file exists and names the VNFD."""
    if toscameta.NAME not in package.contents:
        yield Fault(toscameta.NAME, "", "missing")
        return
    found = package.header()
    for key in _HEADER_KEYS:
        if not found.get(key):
            yield Fault(toscameta.NAME, key, "missing", is_harmless=key == _AUTHOR)
    entry = found.get(toscameta.ENTRY)
    if entry and entry not in package.contents:
        yield Fault(toscameta.NAME, toscameta.ENTRY, f"no file {entry}")


def blocks(package: Package) -> Iterator[Fault]:
    """Check that each other file has one block, each block has its file, and the digests agree."""
    source = package.contents.get(toscameta.NAME)
    try:
        _, found = toscameta.parse(contents.read(source).decode() if source else "")
    except ValueError as error:
        yield Fault(toscameta.NAME, "", f"a block cannot be read ({' '.join(str(error).split())})")
        return
    for block in found:
        yield from _block(package, block)
    named = [str(block.get("Name")) for block in found]
    for name in sorted({name for name in named if named.count(name) > 1}):
        yield Fault(toscameta.NAME, name, "has more than one block")
    for name in sorted(set(filter(toscameta.is_artifact, package.contents)) - set(named)):
        yield Fault(toscameta.NAME, name, "has no block")


def _block(package: Package, block: dict[str, Any]) -> Iterator[Fault]:
    name = str(block.get("Name"))
    if set(block) != set(toscameta.BLOCK_KEYS):
        yield Fault(toscameta.NAME, name, f"keys are not {', '.join(toscameta.BLOCK_KEYS)}")
    elif name not in package.contents:
        yield Fault(toscameta.NAME, name, "has a block but no file")
    elif block["Algorithm"] != toscameta.ALGORITHM:
        yield Fault(toscameta.NAME, name, f"Algorithm is not {toscameta.ALGORITHM}")
    elif block["Hash"] != contents.sha256(package.contents[name]):
        yield Fault(toscameta.NAME, name, "Hash is not that of the file")
