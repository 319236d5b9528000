"""Archives as `docker save` makes them; the same content gives the same bytes."""

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

_EPOCH = "1970-01-01T00:00:00Z"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def layer(
    files: Mapping[str, bytes],
    links: Mapping[str, str] | None = None,
    modes: Mapping[str, int] | None = None,
    folders: Mapping[str, int] | None = None,
) -> bytes:
    """A tar of files, links and the folders they lie in; paths have no leading slash.

    :param modes: of files, where not 0755
    :param folders: to be there though empty, with their modes
    """
    links, modes = links or {}, modes or {}
    parents = _parents([*files, *links, *(f"{name}/x" for name in folders or {})])
    wanted = {**dict.fromkeys(parents, 0o755), **(folders or {})}
    entries = [(_entry(name, wanted[name], tarfile.DIRTYPE), b"") for name in sorted(wanted)]
    entries += [(_entry(name, modes.get(name, 0o755)), files[name]) for name in sorted(files)]
    for name, target in sorted(links.items()):
        link = _entry(name, 0o777, tarfile.SYMTYPE)
        link.linkname = target
        entries.append((link, b""))
    stream = io.BytesIO()
    _write_tar(stream, entries)
    return stream.getvalue()


def write(
    target: BinaryIO,
    reference: str,
    content: bytes,
    settings: Mapping[str, Any],
    architecture: str | None = None,
) -> None:
    """Write the archive of an image with one layer.

    :param content: the layer, as :func:`layer` gives it
    :param settings: the container's configuration under the image specification's names
        (``Entrypoint``, ``Env`` and so on)
    :param architecture: as Docker names it; default: this machine's
    """
    write_all(target, {reference: ([content], settings)}, architecture)


def write_all(
    target: BinaryIO,
    images: Mapping[str, tuple[Sequence[bytes], Mapping[str, Any]]],
    architecture: str | None = None,
) -> None:
    """Write the archive of images, by their references; a layer that several have is there once.

    :param images: layers, the lowest first, and settings, as :func:`write` takes them
    """
    entries: dict[str, bytes] = {}
    manifest = []
    for reference, (layers, settings) in images.items():
        contents = {hashlib.sha256(content).hexdigest(): content for content in layers}
        history = {"created": _EPOCH, "created_by": "tools.docker_archive"}
        config = _json(
            {
                "architecture": architecture or _ARCHITECTURES[platform.machine()],
                "os": "linux",
                "created": _EPOCH,
                "config": settings,
                "rootfs": {"type": "layers", "diff_ids": [f"sha256:{id_}" for id_ in contents]},
                "history": [history] * len(contents),
            }
        )
        name = f"{hashlib.sha256(config).hexdigest()}.json"
        files = {f"{id_}/layer.tar": content for id_, content in contents.items()}
        entries |= {name: config, **files}
        manifest.append({"Config": name, "RepoTags": [reference], "Layers": list(files)})
    entries["manifest.json"] = _json(manifest)
    _write_tar(target, [(_entry(name, 0o644), content) for name, content in entries.items()])


def _parents(names: list[str]) -> set[str]:
    paths = [name.split("/")[:-1] for name in names]
    return {"/".join(path[:length]) for path in paths for length in range(1, len(path) + 1)}


def _entry(name: str, mode: int, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.mode, entry.type = mode, kind
    return entry


def _write_tar(target: BinaryIO, entries: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    with tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry, content in entries:
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
