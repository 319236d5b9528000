"""Backups of etcd in the simulation: what the payloads do about them."""

import json
from collections.abc import Mapping

from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.simulated_world import Machine, Programs, Saved

OK = Result(0)
_KEYS = f"{STATE_FOLDER}/etcd-backup-account/.ssh/authorized_keys"


def host_key(server_id: str) -> str:
    return f"ssh-ed25519 AAAA{server_id.encode().hex()}"


def _has_volume(machine: Machine) -> bool:
    return any(path.startswith("mounted ") for path in machine.files)


class HostKey:
    """That of a simulated machine, for paramiko's."""

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
        name = f"etcd-20261123T0000{len(kept):02}Z-{self.world.release}-{settings['NODE']}.tar.gz"
        kept[name] = self.world.saved()
        for old in sorted(kept)[: -int(settings["KEEP"])]:
            del kept[old]
        return OK

    def _reached(self, settings: Mapping[str, str]) -> tuple[dict[str, Saved], str]:
        """Where this machine's backups are, and why it does not get there, if it does not."""
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
        own = f" {host_key(self.machine.node.server_id)} "
        if own not in keys or "account" not in server.files:
            return {}, f"{account}: permission denied (publickey)"
        return self.world.backups, ""

    def _copied(self, name: str, path: str, kept: Mapping[str, Saved]) -> Result:
        if name not in kept:
            return Result(1, stderr="no such file")
        self.machine.files[path] = (name.encode(), "600")
        return OK

    def _backup_store(self, words: list[str], stdin: bytes) -> Result:
        """As root on the storage server itself."""
        assert words[1] == "list", words
        return Result(0, "\n".join(sorted(self.world.backups)))

    def _backup_account(self, words: list[str], stdin: bytes) -> Result:
        assert _has_volume(self.machine), "the folder would be on the root disk"
        self.machine.files["account"] = (b"", "")
        return OK

    def _show_backup(self, words: list[str], stdin: bytes) -> Result:
        found = self._saved_at(words[0])
        return Result(0, json.dumps(found.told)) if found else Result(1, stderr="unexpected end")

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
        assert rest[int(count) :][:2] == ["kubeadm", "init"], words
        assert "DirAvailable--var-lib-etcd" in rest[-1] or "addon/coredns" in rest[-1], rest
        assert "--bump-revision" in rest, rest
        found = self._saved_at(archive)
        assert found, archive
        self.world.restore(found)
