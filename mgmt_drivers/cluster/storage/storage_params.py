"""The parameters ``storage_server`` and ``pv_registration_params``."""

import ipaddress
import json
import posixpath
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgmt_drivers.params.login import SshLogin, read_login
from mgmt_drivers.params.reader import Reader

VOLUMES, EXPORTS = "cinder_volume_setup_params", "nfs_server_setup_params"
_MANIFESTS = "pv_registration_params"
_CP = "storage server's CP"
_PATH = re.compile(r"(/[A-Za-z0-9._-]+)+")
_LONGEST_PATH, _LONGEST_FILE_NAME = 4095, 255  # bytes (Linux' PATH_MAX and NAME_MAX)
_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
# Folders of the system's own: a volume would hide what is there, or be emptied with it.
_SYSTEM = {
    f"/{name}"
    for name in ("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "opt",
                 "proc", "root", "run", "sbin", "snap", "sys", "tmp", "usr", "var")
}


@dataclass(frozen=True)
class Volume:
    """A Cinder volume: its resource in the BaseHOT, and the folder where it is mounted."""

    resource: str
    mount_point: str


@dataclass(frozen=True)
class Export:
    """A folder of a volume, and the network whose machines may mount it.

    None stands for the nodes that there are. ``squashes_root``: root of them is nobody there.
    """

    folder: str
    network: ipaddress.IPv4Network | None
    squashes_root: bool = False


@dataclass(frozen=True)
class Manifest:
    """PersistentVolumes, as the API takes them; ``server_cp`` has the NFS server's address."""

    volumes: tuple[Mapping[str, Any], ...]
    server_cp: str


@dataclass(frozen=True)
class Storage:
    """The storage server; ``manifests`` are registered in the cluster."""

    ssh_cp_name: str
    login: SshLogin
    volumes: tuple[Volume, ...]
    exports: tuple[Export, ...]
    manifests: tuple[Manifest, ...] = ()

    @property
    def exports_to_nodes(self) -> bool:
        """Whether exports change with the nodes."""
        return any(export.network is None for export in self.exports)

    def folders(self) -> set[str]:
        """All that PersistentVolumes name, also below what is exported."""
        return {
            posixpath.normpath(volume["spec"]["nfs"]["path"])
            for manifest in self.manifests
            for volume in manifest.volumes
        }

    def volume_of(self, export: Export) -> Volume:
        """The volume in which an export lies."""
        return next(v for v in self.volumes if inside(export.folder, v.mount_point))


def read_storage(
    reader: Reader, package: Path, cps: Collection[str], volumes: Collection[str]
) -> Storage | None:
    """Read both parameters; None where there is no storage server.

    :param reader: of the object that holds both
    :param cps: what has an address and may be the storage server's
    :param volumes: names of the Cinder volumes in the BaseHOT
    """
    section = reader.section("storage_server")
    manifests = reader.sections(_MANIFESTS)
    if section is None:
        if manifests:
            reader.error(_MANIFESTS, "needs a storage_server")
        return None
    found = tuple(_read_volumes(section, volumes))
    exports = tuple(_read_exports(section, found))
    storage = Storage(
        ssh_cp_name=section.one_of("ssh_cp_name", cps, _CP),
        login=read_login(section),
        volumes=found,
        exports=exports,
        manifests=tuple(_read_manifest(m, package, cps, exports) for m in manifests),
    )
    section.end()
    _check_names(manifests, storage)
    return storage


def _read_volumes(reader: Reader, known: Collection[str]) -> Iterator[Volume]:
    before: list[Volume] = []
    for section in reader.sections(VOLUMES, at_least_one=True):
        volume = Volume(
            section.one_of("volume_resource_id", known, "Cinder volume"),
            read_path(section, "mount_to"),
        )
        if volume.mount_point == "/" or any(inside(volume.mount_point, own) for own in _SYSTEM):
            section.error(
                "mount_to",
                f"{volume.mount_point} belongs to the system; use a folder such as /volume or "
                "/srv/volume",
            )
        for other in before:
            if volume.resource and volume.resource == other.resource:
                section.error("volume_resource_id", f"{volume.resource} is listed before")
            if overlap(volume.mount_point, other.mount_point):
                section.error("mount_to", f"overlaps with {other.mount_point}")
        section.end()
        before.append(volume)
    yield from before


def _read_exports(reader: Reader, volumes: Collection[Volume]) -> Iterator[Export]:
    seen: set[tuple[str, ipaddress.IPv4Network | None]] = set()
    for section in reader.sections(EXPORTS, at_least_one=True):
        folder = read_path(section, "export_dir")
        points = [volume.mount_point for volume in volumes]
        if folder and all(points) and not any(inside(folder, point) for point in points):
            section.error("export_dir", f"lies in none of the volumes: {', '.join(points)}")
        has_network = section.has("export_to")
        network = section.network("export_to", or_address=True) if has_network else None
        export = Export(folder, network, section.flag("root_squash"))
        if (folder, network) in seen:
            client = "this network" if network else "the nodes"
            section.error("export_dir", f"is exported to {client} before")
        seen.add((folder, network))
        section.end()
        yield export


def read_path(reader: Reader, key: str) -> str:
    """An absolute path, as fstab and exports can hold it without quotes.

    Of one that is invalid, what seems to be meant: others are held against it.
    """
    text = reader.text(key)
    if not text:
        return ""
    path = posixpath.normpath("/" + text.lstrip("/"))
    if text != "/" and (not _PATH.fullmatch(path) or text.rstrip("/") != path):
        reader.error(
            key, "must be an absolute path of letters, digits, dots, dashes and underscores"
        )
    elif _unfitness(path):
        reader.error(key, _unfitness(path))
    return path


def _unfitness(path: str) -> str:
    """Why no folder can have a path, in a command or in a file system; empty where one can."""
    if not path.isprintable():
        return "has characters that do not print"
    data = path.encode()
    if len(data) > _LONGEST_PATH:
        return f"is longer than {_LONGEST_PATH} bytes"
    if any(len(name) > _LONGEST_FILE_NAME for name in data.split(b"/")):
        return f"has a name of more than {_LONGEST_FILE_NAME} bytes"
    return ""


def _read_manifest(
    reader: Reader, package: Path, cps: Collection[str], exports: Collection[Export]
) -> Manifest:
    if not reader.has("pv_manifest_file_path"):
        reader.error("pv_manifest_file_path", "missing")
    what = "a file of PersistentVolumes in YAML"
    _, volumes = reader.yaml_file("pv_manifest_file_path", package, what)
    errors = [error for volume in volumes if (error := _error_in(volume, exports))]
    for error in errors:
        reader.error("pv_manifest_file_path", error)
    manifest = Manifest(() if errors else tuple(volumes), reader.one_of("nfs_server_cp", cps, _CP))
    reader.end()
    return manifest


def _error_in(document: Any, exports: Collection[Export]) -> str:
    """What is wrong with a PersistentVolume; empty if nothing is.

    The API would say so only when the cluster has been made (Kubernetes API reference).
    """
    if not isinstance(document, dict) or document.get("kind") != "PersistentVolume":
        return "holds something else than PersistentVolumes"
    if document.get("apiVersion") != "v1":
        return "holds a PersistentVolume whose apiVersion is not v1"
    metadata = _mapping(document, "metadata")
    name = metadata.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return (
            "holds a PersistentVolume whose metadata.name is not one of lower case letters, "
            "digits, dashes and dots"
        )
    if not isinstance(metadata.get("labels") or {}, dict):
        return f"PersistentVolume {name}: its metadata.labels are not a mapping"
    error = _error_in_spec(_mapping(document, "spec"), exports)
    return f"PersistentVolume {name}{error}" if error else _error_in_form(document, name)


def _error_in_spec(spec: Mapping[str, Any], exports: Collection[Export]) -> str:
    path = _mapping(spec, "nfs").get("path")
    if not isinstance(path, str) or not path:
        return " has no spec.nfs.path"
    if _unfitness(path):
        return f": its spec.nfs.path {_unfitness(path)}"
    if not any(inside(posixpath.normpath(path), e.folder) for e in exports if e.folder):
        return f": its spec.nfs.path {path} is not exported"
    if "storage" not in _mapping(spec, "capacity"):
        return " has no spec.capacity.storage"
    modes = spec.get("accessModes")
    return "" if modes and isinstance(modes, list) else " has no list spec.accessModes"


def _error_in_form(document: Any, name: str) -> str:
    try:
        json.dumps(document, allow_nan=False)
    except (TypeError, ValueError) as error:  # YAML has dates, JSON has none
        return f"PersistentVolume {name} cannot be given to the API ({error}): put it in quotes"
    return ""


def _mapping(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The mapping below a key; an empty one where there is none."""
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def _check_names(readers: list[Reader], storage: Storage) -> None:
    names = Counter(v["metadata"]["name"] for m in storage.manifests for v in m.volumes)
    for reader, manifest in zip(readers, storage.manifests, strict=True):
        for name in {v["metadata"]["name"] for v in manifest.volumes}:
            if names[name] > 1:
                reader.error(
                    "pv_manifest_file_path", f"PersistentVolume {name} is there more than once"
                )


def inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def overlap(one: str, other: str) -> bool:
    return bool(one and other) and (inside(one, other) or inside(other, one))
