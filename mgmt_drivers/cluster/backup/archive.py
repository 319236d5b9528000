"""The archive of one backup: its parts, its signed manifest, and how it is opened.

An archive is a tar file of four members. ``data.enc`` is a compressed tar file, encrypted by a
password (AES-256-CBC, ``openssl enc``); ``password.enc`` is the password, encrypted to a key pair
of Tacker's; ``manifest.json`` tells the release, the networks, the node, the time and the SHA-256
of both; ``manifest.json.sig`` is the manifest's signature by the node (``ssh-keygen -Y sign``).
"""

import base64
import hashlib
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from mgmt_drivers import grammar
from mgmt_drivers.cluster.backup.backup_keys import BackupKeys
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.series import read_version
from mgmt_drivers.errors import BackupError, MgmtDriverError
from mgmt_drivers.machine import answers
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.package import BROKEN_ARCHIVE, ArchiveMember
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh import signatures
from mgmt_drivers.ssh.session import LIST_OUTPUT

_DATA = "data.enc"
MEMBERS = ("manifest.json", "manifest.json.sig", "password.enc", _DATA)
NAMESPACE = "tacker-etcd-backup"  # of the signatures
LIMIT = 900.0  # seconds to read or to move a backup
_SHOW, _OPEN = Script(__package__, "show-backup"), Script(__package__, "open-backup")
_LARGEST_PART = 1 << 16  # bytes of each member but the data
_PIECE = 1 << 20  # bytes
_FORMAT = 2


class BrokenBackup(BackupError):
    """A backup is damaged or forged."""


@dataclass(frozen=True)
class Contents:
    """The cluster that a backup has: the apiserver's release, and the cluster's networks.

    ``node`` and ``time`` (seconds since 1970) tell who saved it, and when; ``is_corrupt`` tells
    whether etcd had the alarm CORRUPT then; ``password`` opens it.
    """

    release: str
    pod_cidr: str
    service_cidr: str
    node: str
    time: float
    key: str
    is_corrupt: bool
    password: Secret


def read(host: Host, path: str, keys: BackupKeys) -> Contents:
    """:raises BrokenBackup: if the file is damaged, or no node of the VNF has signed it"""
    seen = host.ask(*_SHOW.command(path), timeout=LIMIT, limit=LIST_OUTPUT)
    if not seen.ok:
        raise BrokenBackup(f"{path} is not a whole backup: {seen.tail}")
    try:
        *lines, digest = seen.stdout.splitlines()
        manifest, signature, password = map(base64.b64decode, lines)
        parts = (manifest, signature.decode(), password, digest)
    except ValueError as error:
        raise BrokenBackup(f"{path} is not a whole backup") from error
    return _verified(*parts, keys)


def read_file(path: Path, keys: BackupKeys) -> Contents:
    """Verify a backup of the VNF package."""
    try:
        with path.open("rb") as file:
            parts = _read_parts(file)
    except BROKEN_ARCHIVE as error:
        raise BrokenBackup(
            f"{path.name} is not a whole backup: {type(error).__name__}"
        ) from error
    return _verified(*parts, keys)


def _read_parts(file: IO[bytes]) -> tuple[bytes, str, bytes, str]:
    parts, sha = [], hashlib.sha256()
    with tarfile.open(fileobj=file, mode="r|", tarinfo=ArchiveMember) as archive:
        for member, name in zip(archive, MEMBERS, strict=True):
            stream = archive.extractfile(member)
            if stream is None or member.name != name:
                raise tarfile.ReadError("other members")
            if name != _DATA:
                parts.append(stream.read(_LARGEST_PART))
                continue
            while piece := stream.read(_PIECE):
                sha.update(piece)
    manifest, signature, password = parts
    return manifest, signature.decode(), password, sha.hexdigest()


def _verified(
    text: bytes, signature: str, encrypted: bytes, digest: str, keys: BackupKeys
) -> Contents:
    """Verify an archive's manifest, and by it the password and the data's SHA-256."""
    try:
        manifest: Mapping[str, Any] = json.loads(text)
        networks = manifest["pod_cidr"], manifest["cluster_cidr"]
        release = answers.checked(manifest["release"], answers.RELEASE, "a release of Kubernetes")
        pods, services = map(_network, networks)
        node, moment = manifest["node"], float(manifest["time"])
        key = str(manifest["key"])
        is_corrupt = "CORRUPT" in str(manifest.get("alarms"))  # earlier drivers told no alarms
        digests = manifest["password"], manifest["data"]
        is_known = manifest["format"] == _FORMAT
    except (ValueError, KeyError, TypeError, RecursionError, MgmtDriverError) as error:
        raise BrokenBackup(
            f"the backup's manifest cannot be read: {type(error).__name__}"
        ) from error
    if not is_known:
        raise BrokenBackup("the backup has a format that a newer version of the drivers saves")
    signer = keys.signers.get(node) if isinstance(node, str) else None
    if not signer:
        raise BrokenBackup(
            "the backup is signed by a node that the VNF has never had; for a backup of another "
            "VNF, give its restore_keys"
        )
    if not signatures.is_valid(text, signature, signer, NAMESPACE):
        raise BrokenBackup(f"the backup's signature is not one of node {node}")
    if digests != (hashlib.sha256(encrypted).hexdigest(), digest):
        raise BrokenBackup(f"the backup was changed after node {node} had signed it")
    if key not in keys.pairs:
        raise BrokenBackup("the backup is encrypted to a key that Tacker does not have")
    try:
        password = keys.pairs[key].decrypt(encrypted)
    except ValueError:
        raise BrokenBackup("the backup's password cannot be decrypted") from None
    return Contents(release, pods, services, node, moment, key, is_corrupt, password)


def _network(word: Any) -> str:
    return str(grammar.ipv4_network(word) if isinstance(word, str) else None)


def decrypt(host: Host, path: str, contents: Contents, opened: str) -> None:
    """Decrypt a backup on a machine into a file that only root reads."""
    host.session.hide(contents.password)
    host.sudo(*_OPEN.command(path, opened), stdin=contents.password, timeout=LIMIT)


def why_not_restorable(contents: Contents, params: KubernetesParams, reach: int = 0) -> str:
    """Why a backup does not fit, or an empty string; ``reach``: series that it may be away."""
    version = read_version(contents.release)
    if version is None or abs(version.series.minor - params.series.minor) > reach:
        return (
            f"it is from Kubernetes {contents.release}, and the cluster is to have "
            f"{params.version}, whose series cannot restore it. Choose another backup, or "
            "instantiate a VNF with the backup's series and restore it there"
        )
    for what, own, theirs in (
        ("pod_cidr", params.pod_cidr, contents.pod_cidr),
        ("cluster_cidr", params.service_cidr, contents.service_cidr),
    ):
        if str(own) != theirs:
            return f"its cluster had the {what} {theirs}, and this one is to have {own}"
    return ""
