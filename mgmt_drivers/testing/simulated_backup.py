"""Backups of etcd in the simulation: what the payloads do about them."""

import base64
import dataclasses
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping

from mgmt_drivers.cluster.backup.archive import MEMBERS, NAMESPACE
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.made_keys import SigningKey, encrypt
from mgmt_drivers.testing.simulated_world import Machine, Programs, Saved

OK = Result(0)
PASSWORD = "of a backup"  # noqa: S105 - of the simulation
_DATA = b"encrypted"
_DIGEST = hashlib.sha256(_DATA).hexdigest()
_KEYS = f"{STATE_FOLDER}/etcd-backup-account/.ssh/authorized_keys"


def host_key(server_id: str) -> str:
    return f"ssh-ed25519 AAAA{server_id.encode().hex()}"


def _has_volume(machine: Machine) -> bool:
    return any(path.startswith("mounted ") for path in machine.files)


def seal(saved: Saved, node: str, key: str, public: str) -> Saved:
    """A backup as a node encrypts and signs it."""
    password = encrypt(public, PASSWORD)
    manifest = json.dumps(
        {
            **saved.told, "format": 2, "node": node, "key": key, "time": 0,
            "password": hashlib.sha256(password).hexdigest(), "data": _DIGEST,
        }
    ).encode()
    signature = SigningKey(node).sign(manifest, NAMESPACE).encode()
    lines = [base64.b64encode(part).decode() for part in (manifest, signature, password)]
    return dataclasses.replace(saved, shown="\n".join([*lines, _DIGEST, ""]))


def archive_of(saved: Saved) -> bytes:
    """The file of a backup, as far as somebody without the password can tell."""
    stream = io.BytesIO()
    parts = [base64.b64decode(line) for line in saved.shown.split("\n")[:3]]
    with tarfile.open(fileobj=stream, mode="w") as file:
        for name, part in zip(MEMBERS, [*parts, _DATA], strict=True):
            info = tarfile.TarInfo(name)
            info.size = len(part)
            file.addfile(info, io.BytesIO(part))
    return stream.getvalue()


class HostKey:
    """The host key of a simulated machine, in place of paramiko's."""

    def __init__(self, server_id: str) -> None:
        self._words = host_key(server_id).split()

    def get_name(self) -> str:
        return self._words[0]

    def get_base64(self) -> str:
        return self._words[1]


class Backups(Programs):
    """The part of a simulated session that knows of backups."""

    def _etcd_backup(self, words: list[str], stdin: bytes) -> Result:
        text = self.machine.files[f"{STATE_FOLDER}/etcd-backup.conf"][0].decode()
        settings = {k: v.strip('"') for k, v in (line.split("=") for line in text.splitlines())}
        kept, reason = self._reached(settings)
        if reason:
            return Result(255, stderr=reason)
        if words[0] == "list":
            return Result(0, "\n".join(sorted(kept)))
        if words[0] == "read":
            return self._copied(words[1], words[2], kept)
        assert words == ["save", "now"], words
        node, key = settings["NODE"], settings["KEY"]
        public = self.machine.files[f"{STATE_FOLDER}/etcd-backup.pem"][0].decode()
        time = f"19700101T0000{len(kept):02}Z"  # the clock of the simulation
        name = f"etcd-{time}-{self.world.release}-{key}-{node}.tar"
        kept[name] = seal(self.world.saved(), node, key, public)
        own = [name for name in sorted(kept) if name.endswith(f"-{node}.tar")]
        for old in own[: -int(settings["KEEP"])]:
            del kept[old]
        return OK

    def _reached(self, settings: Mapping[str, str]) -> tuple[dict[str, Saved], str]:
        """The place of this machine's backups, and the reason why it is not reached, if any."""
        if not settings["SERVER"]:
            return self.machine.backups, ""
        account, _, address = settings["SERVER"].partition("@")
        server = next(m for m in self.world.machines.values() if m.address == address)
        known = self.machine.files[f"{STATE_FOLDER}/etcd-backup.known_hosts"][0].decode()
        if known != f"{address} {host_key(server.node.server_id)}\n":
            return {}, "Host key verification failed."
        if not server.alive or not _has_volume(server):
            return {}, "no answer"
        keys = server.files.get(_KEYS, (b"", ""))[0].decode()
        own = f" {SigningKey(self.machine.name).public} "
        if own not in keys or "account" not in server.files:
            return {}, f"{account}: permission denied (publickey)"
        return self.world.backups, ""

    def _copied(self, name: str, path: str, kept: Mapping[str, Saved]) -> Result:
        if name not in kept:
            return Result(1, stderr="no such file")
        self.machine.files[path] = (name.encode(), "600")
        return OK

    def _backup_store(self, words: list[str], stdin: bytes) -> Result:
        """Run the program of the store as root on the storage server itself."""
        assert words[3] == "list", words
        return Result(0, "\n".join(sorted(self.world.backups)))

    def _backup_account(self, words: list[str], stdin: bytes) -> Result:
        assert _has_volume(self.machine), "the folder would be on the root disk"
        self.machine.files["account"] = (b"", "")
        return OK

    def _show_backup(self, words: list[str], stdin: bytes) -> Result:
        found = self._saved_at(words[0])
        if not found:
            return Result(1, stderr="unexpected end")
        return Result(0, found.shown)

    def _open_backup(self, words: list[str], stdin: bytes) -> Result:
        sealed, opened = words
        name = self.machine.files.pop(sealed)[0].decode(errors="replace")
        if stdin.decode() != PASSWORD:
            return Result(1, stderr="bad decrypt")
        self.machine.files[opened] = (name.encode(), "600")
        return OK

    def _backup_key(self, words: list[str], stdin: bytes) -> Result:
        public = SigningKey(self.machine.name).public
        self.machine.files[words[0]] = (b"private", "600")
        self.machine.files[f"{words[0]}.pub"] = (f"{public} \n".encode(), "600")
        return Result(0, f"{public} \n")

    def _saved_at(self, path: str) -> Saved | None:
        """The backup in a file: one of the storage server, or a copy, which has its name."""
        name = path.rpartition("/")[2]
        if path in self.machine.files:
            name = self.machine.files[path][0].decode(errors="replace")
        return self.world.backups.get(name) or self.world.package.get(name)

    def _in_image(self, words: list[str]) -> Result:
        assert words == ["etcdutl", "snapshot", "restore", "--help"], words
        return Result(0, "  --bump-revision uint\n")

    def _laid_down(self, words: list[str]) -> None:
        """The data of a backup, for a member of this machine's name and address."""
        archive, name, peer, count, _, *rest = words
        assert (name, peer) == (self.machine.name, f"https://{self.machine.address}:2380"), words
        kubeadm = rest[rest.index("kubeadm") :]
        assert kubeadm[:2] == ["kubeadm", "init"] and "encryption-key" in rest[int(count) :], words
        assert "DirAvailable--var-lib-etcd" in rest[-1] or "addon/coredns" in rest[-1], rest
        assert "--bump-revision" in rest, rest
        found = self._saved_at(archive)
        assert found, archive
        self.world.restore(found)
