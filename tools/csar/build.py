"""Builds the CSAR of a package: the same inputs give the same bytes."""

import io
import stat
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from tools.csar import contents, drivers, overlay, sbom, signature, sol001, toscameta, verify
from tools.csar.contents import Contents
from tools.csar.errors import CsarError
from tools.csar.package import Package, mapping
from tools.csar.signature import Signer

PACKAGES = Path(__file__).parents[2] / "vnf_packages"
OVERLAYS = PACKAGES / "overlays"

_SLOW_FROM = 10 << 20  # bytes that take a while to compress


def folder_of(name: str, place: Path = PACKAGES) -> Path:
    """Return the folder of a package or overlay, given by its path or its name in a place.

    :raises CsarError: there is no such folder
    """
    for folder in (Path(name), place / name):
        if folder.is_dir():
            return folder.resolve()
    raise CsarError(f"{name}: no such folder, here or in {place}")


def build(
    folder: Path,
    csar: Path,
    files: Mapping[str, Path] | None = None,
    overlays: Sequence[Path] = (),
    vnfd_id: str = "",
    say: Callable[[str], None] = print,
    signer: Signer | None = None,
) -> Path:
    """Write the package in ``folder`` to ``csar``, which appears complete or not at all.

    :param files: files to add that are not in the folder, by their name in the CSAR
    :param overlays: folders to lay over the package
    :param vnfd_id: replaces the VNFD id of the package
    :param say: gets a line for each warning, and for each step that takes a while
    :param signer: signs; the file is then a zip of the CSAR, its signature and the certificate
    :raises CsarError: the package has faults, and the message lists all of them
    """
    assembled = assemble(folder, files, overlays)
    assembled[sbom.NAME] = sbom.bill(assembled, _driver_files(assembled))
    if vnfd_id:
        assembled = with_vnfd_id(assembled, vnfd_id)
    found = verify.faults(assembled, drivers.registered())
    faults = [fault for fault in found if not fault.is_harmless]
    if faults:
        raise CsarError("\n".join([f"{folder}: not built, put these right:", *map(str, faults)]))
    for warning in found:
        say(f"warning: {warning}")
    csar.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=csar.parent, prefix=f".{csar.name}.") as place:
        made = Path(place, csar.name).with_suffix(signature.CSAR)
        with made.open("wb") as stream:
            _write(stream, assembled, say)
        if signer:
            made = signature.sign(made, signer)
        made.chmod(0o644)
        made.replace(csar)
    return csar


def assemble(
    folder: Path, files: Mapping[str, Path] | None = None, overlays: Sequence[Path] = ()
) -> Contents:
    """Return all contents of the CSAR, except the blocks of TOSCA.meta.

    The contents are the package's own files with the overlays, ``files``, the ETSI types and the
    drivers named in the VNFD.

    :raises CsarError: a file or the ETSI types are missing, or an overlay does not fit
    """
    assembled = overlay.of_package(folder)
    for folder in overlays:
        assembled = overlay.lay(assembled, folder)
    for name, path in (files or {}).items():
        if not path.is_file():
            raise CsarError(f"{path}: no such file to add as {name}")
        assembled[name] = path
    for name, path in sol001.definitions().items():
        assembled[f"Definitions/{name}"] = path
    return contents.checked(assembled | _driver_files(assembled))


def with_vnfd_id(assembled: Contents, vnfd_id: str) -> Contents:
    """Return the package with another VNFD id, since Tacker accepts each id only once."""
    ids = {
        mapping(document, "topology_template", "node_templates", "VNF", "properties").get(
            "descriptor_id"
        )
        for document in Package(assembled).documents.values()
    } - {None}
    result = dict(assembled)
    for name, source in assembled.items():
        if name.startswith("Definitions/"):
            text = source.read_bytes()
            for old in ids:
                text = text.replace(str(old).encode(), vnfd_id.encode())
            if text != source.read_bytes():
                result[name] = contents.InMemory(name, text)
    return result


def _driver_files(assembled: Contents) -> Contents:
    """Return the modules of the drivers in the VNFD: a registered module, or a script's modules.

    A script for Tacker's v2 API is named relative to Definitions/; its modules are all it imports.
    """
    registered = drivers.registered()
    found: Contents = {}
    for flavour in Package(assembled).flavours:
        for driver, artifact in mapping(flavour.nodes, "VNF", "artifacts").items():
            name = str(mapping(artifact).get("file") or "")
            if name and (why := contents.wrong(name.removeprefix("../"))):
                raise CsarError(f"{flavour.file}: file {name!r} of artifact {driver} {why}")
            if name.startswith(drivers.SCRIPTS):
                found |= drivers.script(name.removeprefix(drivers.SCRIPTS))
            elif name and driver in registered:
                found[name] = registered[driver]
    return found


def _write(stream: IO[bytes], assembled: Contents, say: Callable[[str], None]) -> None:
    header = assembled[toscameta.NAME].read_bytes().decode()
    artifacts = filter(toscameta.is_artifact, assembled)
    meta = toscameta.render(header, {name: contents.sha256(assembled[name]) for name in artifacts})
    with zipfile.ZipFile(stream, "w") as archive:
        for name, source in sorted(assembled.items()):
            opened = io.BytesIO(meta.encode()) if name == toscameta.NAME else source.open("rb")
            with opened as content:
                _add(archive, name, content, say)


def _add(
    archive: zipfile.ZipFile, name: str, content: IO[bytes], say: Callable[[str], None]
) -> None:
    entry = zipfile.ZipInfo(name, contents.EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix, whose permissions Tacker restores
    permissions = 0o755 if name.endswith(".sh") else 0o644
    entry.external_attr = (stat.S_IFREG | permissions) << 16
    entry.file_size = content.seek(0, io.SEEK_END)
    content.seek(0)
    if entry.file_size > _SLOW_FROM:
        say(f"adding {name} ({entry.file_size >> 20} MiB)")
    with archive.open(entry, "w") as target:
        contents.copy(content, target)
