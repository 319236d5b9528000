"""The parameters ``storage_server`` and ``pv_registration_params``."""

import ipaddress
import json
import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mgmt_drivers.cluster.addons import manifests
from mgmt_drivers.cluster.addons.addon_params import ManifestFile
from mgmt_drivers.cluster.addons.manifests import Object
from mgmt_drivers.params import kinds
from mgmt_drivers.params.declaration import Always, ObjectOf, inline, param
from mgmt_drivers.params.login import SshLogin
from mgmt_drivers.params.reader import Reader

VOLUMES, EXPORTS = "cinder_volume_setup_params", "nfs_server_setup_params"
MANIFESTS = "pv_registration_params"
CP = "storage server's CP"
VOLUME = "Cinder volume"
_PATH = re.compile(r"(/[A-Za-z0-9._-]+)+")
_LONGEST_PATH, _LONGEST_FILE_NAME = 4095, 255  # bytes (Linux' PATH_MAX and NAME_MAX)
_LABEL = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?"
_NAME = re.compile(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*")
# Folders of the system: a volume would hide their content, or be emptied together with a folder.
_SYSTEM = {
    f"/{name}"
    for name in ("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "opt",
                 "proc", "root", "run", "sbin", "snap", "sys", "tmp", "usr", "var")
}


class Folder(kinds.TextKind[str]):
    """An absolute path that needs no quotes in fstab and exports.

    An invalid path is read as the probable path, so that it can be compared with other paths.
    """

    words = "absolute path"
    fallback = ""
    pattern = "^/"

    def take(self, text: str, reader: Reader) -> str:
        path = posixpath.normpath("/" + text.lstrip("/"))
        if text != "/" and (not _PATH.fullmatch(path) or text.rstrip("/") != path):
            reader.refuse("must be an absolute path of letters, digits, dots, dashes and "
                          "underscores")
        elif reason := _why_no_path(path):
            reader.refuse(reason)
        return path


class _MountPoint(Folder):
    def take(self, text: str, reader: Reader) -> str:
        path = super().take(text, reader)
        if path == "/" or any(inside(path, own) for own in _SYSTEM):
            reader.refuse(
                f"{path} belongs to the system; use a folder such as /volume or /srv/volume"
            )
        return path


class _PersistentVolumes(kinds.TextKind[tuple[Mapping[str, Any], ...]]):
    words = kinds.PackageFile.words
    fallback = ()

    def take(self, text: str, reader: Reader) -> tuple[Mapping[str, Any], ...]:
        path = ManifestFile().take(text, reader)
        volumes = manifests.parse(path.read_bytes()) if path else []
        errors = [error for volume in volumes if (error := _error_in(volume))]
        for error in errors:
            reader.refuse(error)
        return () if errors else tuple(volumes)


@dataclass(frozen=True)
class Volume:
    """A Cinder volume: its resource in the BaseHOT, and its mount point."""

    resource: str = param(
        "volume_resource_id", kinds.Reference(VOLUME), required=Always(),
        example="storage_server_volume", meaning="the volume's resource in the BaseHOT",
    )
    mount_point: str = param(
        "mount_to", _MountPoint(), required=Always(), example="/volume",
        meaning="folder where the volume is mounted, in none of the system's folders",
    )


@dataclass(frozen=True)
class Export:
    """A folder of a volume, and the network whose machines may mount the folder.

    The network None stands for the nodes of the cluster. ``squashes_root``: root of the clients
    becomes nobody on the server; None stands for the default of the cluster.
    """

    folder: str = param(
        "export_dir", Folder(), required=Always(), example="/volume/nfs/pv1",
        meaning="folder on one of the volumes",
    )
    network: ipaddress.IPv4Network | None = param(
        "export_to", kinds.NetworkOrAddress(), example="10.10.0.0/24",
        meaning="network (with a prefix of /8 or longer) whose machines may mount the folder, or "
        "one address, which does not end in ``.0``",
        left_out="the addresses of the nodes, also of nodes that come and go later",
    )
    squashes_root: bool | None = param(
        "root_squash", kinds.Flag(), example=False, value=None,
        meaning="whether root of the clients is ``nobody`` on the storage server, to whom the "
        "folder then belongs",
        left_out="true; in a cluster of an earlier version of the drivers false",
    )


@dataclass(frozen=True)
class Manifest:
    """PersistentVolumes as API objects; ``server_cp`` has the NFS server's address."""

    volumes: tuple[Mapping[str, Any], ...] = param(
        "pv_manifest_file_path", _PersistentVolumes(), required=Always(),
        example="Files/kubernetes/nfs-pv1.yaml",
        meaning="one or more PersistentVolumes, as YAML without aliases",
    )
    server_cp: str = param(
        "nfs_server_cp", kinds.Reference(CP), required=Always(), example="storage_server_CP",
        meaning="CP whose address replaces ``spec.nfs.server``",
    )


@dataclass(frozen=True)
class Storage:
    """The storage server; ``manifests`` are registered in the cluster."""

    ssh_cp_name: str = param(
        "ssh_cp_name", kinds.Reference(CP), required=Always(), example="storage_server_CP",
        meaning="CP, or floating IP of the BaseHOT, used for SSH",
    )
    login: SshLogin = inline(SshLogin)
    volumes: tuple[Volume, ...] = param(
        VOLUMES, kinds.ListOf(ObjectOf(Volume), at_least_one=True), required=Always(),
        meaning="one or more volumes",
    )
    exports: tuple[Export, ...] = param(
        EXPORTS, kinds.ListOf(ObjectOf(Export), at_least_one=True), required=Always(),
        meaning="one or more folders",
    )
    nic_cp_name: str | None = param(
        "nic_cp_name", kinds.Reference(CP), example="storage_server_CP",
        meaning="accepted because requests of Tacker's samples have it, and not used: "
        "``nfs_server_cp`` names the CP that exports",
    )
    manifests: tuple[Manifest, ...] = ()

    @property
    def exports_to_nodes(self) -> bool:
        return any(export.network is None for export in self.exports)

    def folders(self) -> set[str]:
        """The folders of all PersistentVolumes, which may be below exported folders."""
        return {
            posixpath.normpath(volume["spec"]["nfs"]["path"])
            for manifest in self.manifests
            for volume in manifest.volumes
        }

    def volume_of(self, folder: str) -> Volume:
        return next(v for v in self.volumes if inside(folder, v.mount_point))


def _check(storage: Storage, reader: Reader) -> Storage:
    _check_volumes(storage.volumes, reader.at(VOLUMES))
    _check_exports(storage, reader.at(EXPORTS))
    return storage


STORAGE = ObjectOf(Storage, _check)
PV_REGISTRATION = kinds.ListOf(ObjectOf(Manifest))


def _check_volumes(volumes: Sequence[Volume], reader: Reader) -> None:
    for number, volume in enumerate(volumes):
        place = reader.at(number)
        for other in volumes[:number]:
            if volume.resource and volume.resource == other.resource:
                place.at("volume_resource_id").refuse(f"{volume.resource} is listed twice")
            if overlap(volume.mount_point, other.mount_point):
                place.at("mount_to").refuse(f"overlaps with {other.mount_point}")


def _check_exports(storage: Storage, reader: Reader) -> None:
    points = [volume.mount_point for volume in storage.volumes]
    before: set[tuple[str, ipaddress.IPv4Network | None]] = set()
    for number, export in enumerate(storage.exports):
        place = reader.at(number).at("export_dir")
        folder = export.folder
        if folder and all(points) and not any(inside(folder, point) for point in points):
            place.refuse(f"is not below the mount point of a volume: {', '.join(points)}")
        if (folder, export.network) in before:
            client = "this network" if export.network else "the nodes"
            place.refuse(f"is exported to {client} twice")
        before.add((folder, export.network))


def with_manifests(
    storage: Storage | None, manifests: tuple[Manifest, ...], reader: Reader
) -> Storage | None:
    """The storage server with the PersistentVolumes; the reader is that of the cluster's object."""
    place = reader.at(MANIFESTS)
    if storage is None:
        if manifests:
            place.refuse("needs a storage_server")
        return None
    names = Counter(v["metadata"]["name"] for m in manifests for v in m.volumes)
    for number, manifest in enumerate(manifests):
        file = place.at(number).at("pv_manifest_file_path")
        for volume in manifest.volumes:
            name, path = volume["metadata"]["name"], volume["spec"]["nfs"]["path"]
            if not any(inside(posixpath.normpath(path), e.folder) for e in storage.exports):
                file.refuse(f"PersistentVolume {name}: its spec.nfs.path {path} is not exported")
        for name in {v["metadata"]["name"] for v in manifest.volumes}:
            if names[name] > 1:
                file.refuse(f"PersistentVolume {name} is there more than once")
    return replace(storage, manifests=manifests)


def _why_no_path(path: str) -> str:
    """The reason why no folder can have a path, in a command or a file system; or empty."""
    if not path.isprintable():
        return "has non-printable characters"
    data = path.encode()
    if len(data) > _LONGEST_PATH:
        return f"is longer than {_LONGEST_PATH} bytes"
    if any(len(name) > _LONGEST_FILE_NAME for name in data.split(b"/")):
        return f"has a name of more than {_LONGEST_FILE_NAME} bytes"
    return ""


def _error_in(document: Object) -> str:
    """The error in a PersistentVolume, if any; the API would tell it after the cluster was made."""
    if document["kind"] != "PersistentVolume":
        return "holds objects other than PersistentVolumes"
    if document["apiVersion"] != "v1":
        return "holds a PersistentVolume whose apiVersion is not v1"
    name = document["metadata"]["name"]
    if not _NAME.fullmatch(name):
        return (
            "holds a PersistentVolume whose metadata.name is not one of lower case letters, "
            "digits, dashes and dots"
        )
    if fault := _error_in_spec(_mapping(document, "spec")):
        return f"PersistentVolume {name}{fault}"
    try:
        json.dumps(document, allow_nan=False)
    except (TypeError, ValueError) as error:  # YAML has dates, JSON has none
        return f"PersistentVolume {name} cannot be given to the API ({error}): put it in quotes"
    return ""


def _error_in_spec(spec: Mapping[str, Any]) -> str:
    path = _mapping(spec, "nfs").get("path")
    if not isinstance(path, str) or not path:
        return " has no spec.nfs.path"
    if reason := _why_no_path(path):
        return f": its spec.nfs.path {reason}"
    if "storage" not in _mapping(spec, "capacity"):
        return " has no spec.capacity.storage"
    modes = spec.get("accessModes")
    return "" if modes and isinstance(modes, list) else " has no list spec.accessModes"


def _mapping(values: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The mapping of a key; empty if there is none."""
    value = values.get(key)
    return value if isinstance(value, dict) else {}


def inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def overlap(one: str, other: str) -> bool:
    return bool(one and other) and (inside(one, other) or inside(other, one))
