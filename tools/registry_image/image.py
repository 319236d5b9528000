"""Packs programs into a `docker save` archive; the same programs give the same bytes."""

import hashlib
import io
import json
import tarfile
from typing import Any

from tools.registry_image.debian import Programs

TAG = "registry:2"

# The layout of the image which is usually pulled under this tag, so that what is written about
# that one is true of this one. REGISTRY_* variables override the configuration.
CONFIG_PATH = "etc/docker/registry/config.yml"
CONFIGURATION = b"""\
version: 0.1
log:
  fields:
    service: registry
storage:
  filesystem:
    rootdirectory: /var/lib/registry
  delete:
    enabled: true
http:
  addr: :5000
"""
_RUNTIME = {
    "Entrypoint": ["/bin/registry", "serve"],
    "Cmd": [f"/{CONFIG_PATH}"],
    "Env": ["PATH=/bin"],
    "ExposedPorts": {"5000/tcp": {}},
    "Volumes": {"/var/lib/registry": {}},
}
_EPOCH = "1970-01-01T00:00:00Z"


def pack(programs: Programs) -> bytes:
    """Return the archive that `docker load` takes."""
    layer = _layer(programs)
    layer_id = hashlib.sha256(layer).hexdigest()
    config = _json(
        {
            "architecture": programs.architecture,
            "os": "linux",
            "created": _EPOCH,
            "config": _RUNTIME,
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_id}"]},
            "history": [{"created": _EPOCH, "created_by": "tools.registry_image"}],
        }
    )
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    layer_name = f"{layer_id}/layer.tar"
    manifest = [{"Config": config_name, "RepoTags": [TAG], "Layers": [layer_name]}]
    return _tar(
        [
            (_file_entry(config_name), config),
            (_file_entry(layer_name), layer),
            (_file_entry("manifest.json"), _json(manifest)),
        ]
    )


def _layer(programs: Programs) -> bytes:
    files = {
        _file_entry(name, 0o755): content for name, content in sorted(programs.files.items())
    }
    files[_file_entry(CONFIG_PATH)] = CONFIGURATION
    links = [_link_entry(name, target) for name, target in sorted(programs.links.items())]
    entries = [*files, *links]
    folders = {"var/lib/registry"} | {entry.name.rpartition("/")[0] for entry in entries}
    return _tar(
        [
            *((_folder_entry(name, 0o755), b"") for name in sorted(_with_parents(folders))),
            (_folder_entry("tmp", 0o1777), b""),
            *files.items(),
            *((link, b"") for link in links),
        ]
    )


def _with_parents(folders: set[str]) -> set[str]:
    paths = [name.split("/") for name in folders]
    return {"/".join(path[:length]) for path in paths for length in range(1, len(path) + 1)}


def _file_entry(name: str, mode: int = 0o644) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.mode = mode
    return entry


def _folder_entry(name: str, mode: int) -> tarfile.TarInfo:
    entry = _file_entry(name, mode)
    entry.type = tarfile.DIRTYPE
    return entry


def _link_entry(name: str, target: str) -> tarfile.TarInfo:
    entry = _file_entry(name, 0o777)
    entry.type = tarfile.SYMTYPE
    entry.linkname = target
    return entry


def _tar(entries: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry, content in entries:
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
