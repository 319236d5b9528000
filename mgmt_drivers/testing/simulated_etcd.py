"""The members of a simulated etcd, and the images and containers of a machine."""

import json
from collections.abc import Mapping
from typing import Any

from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.simulated_backup import Backups
from mgmt_drivers.testing.simulated_world import OK


class EtcdPrograms(Backups):
    """The members of a simulated etcd, and the images and containers of a machine."""

    def _ctr(self, words: list[str], stdin: bytes) -> Result:
        words = words[2:]
        if words[:2] == ["images", "pull"]:
            self.machine.images.add(words[-1])
        if words[0] == "images":
            return Result(0, "\n".join(self.machine.images))
        return self._in_image(words[-4:])

    def _measure_syncs(self, words: list[str], stdin: bytes) -> Result:
        self.world.measured.append(self.machine.address)
        return Result(0, f"{self.machine.sync_time}\n")

    def _prepare_snapshot(self, words: list[str], stdin: bytes) -> Result:
        folder, name, _ = words
        for path in (f"{folder}/{name}", f"{folder}/{name}.part"):
            self.machine.files.pop(path, None)
        if self.machine.free << 20 < 2 * self.world.databases.size(self.machine.name):
            return Result(1, stderr=f"{folder} has too little space left for a snapshot")
        return OK

    def _static_pods(self, words: list[str], stdin: bytes) -> Result:
        (verb, _, node, *names) = words
        assert node == self.machine.name, words
        if verb != "exec":
            return self._answer(["programs", verb, *names], stdin)
        assert names[0] == "etcd", words
        return self._etcdctl([word for word in names[1:] if not word.startswith("--")])

    def _etcdctl(self, words: list[str]) -> Result:
        members = self.world.members
        if not self.machine.etcd_runs:
            return Result(1, stderr="etcd has no container that runs")
        if words[1:3] == ["member", "list"]:
            return self._member_list()
        if words[1:3] == ["endpoint", "status"]:
            alive = self.world.alive_members()
            status = [{"Status": self._status(member)} for member in alive]
            return Result(0 if len(alive) == len(members) else 1, json.dumps(status))
        if words[1] in ("compaction", "defrag", "alarm"):
            return self._kept_up(words[1:])
        if words[1:3] == ["member", "remove"]:
            self.world.beheaded += words[3] == f"{self._leader():x}"
            self.world.members = [m for m in members if f"{m['ID']:x}" != words[3]]
            if len(self.world.members) == len(members):
                return Result(1, stderr="Error: etcdserver: member not found")
            return OK
        if words[:3] == ["etcdutl", "snapshot", "status"]:
            assert words[3] in self.machine.files, words
            self.world.checked.append(self.machine.name)
            return OK
        if words[1] == "snapshot":
            self.machine.files[words[3]] = (b"all", "644")
            return OK
        if words[1] == "move-leader":
            (successor,) = (m["name"] for m in members if f"{m['ID']:x}" == words[2])
            self.world.leader = successor
            return OK
        raise AssertionError(f"the simulation does not know {words}")

    def _member_list(self) -> Result:
        members = self.world.members
        alive = [m for m in members if self.world.machine_of(m["name"])]
        stopped = len(alive) - len(self.world.alive_members())  # since kubelet does not run
        if stopped * 2 >= len(members):
            return Result(1, stderr="context deadline exceeded")
        return Result(0, json.dumps({"members": members}))

    def _status(self, member: Mapping[str, Any]) -> dict[str, Any]:
        """The answer of one member, which tells the alarms of all."""
        found = self.world.databases
        told = {
            "header": {"member_id": member["ID"], "revision": found.revision},
            "leader": self._leader(),
            "version": found.releases.get(member["name"], "3.6.8"),
            "dbSize": found.size(member["name"]),
            "dbSizeInUse": found.in_use,
        }
        errors = [f"memberID:{number} alarm:{kind} " for number, kind in found.alarms]
        told |= {"errors": errors} if errors else {}
        return told | ({"dbSizeQuota": found.quota} if found.tells_quota else {})

    def _kept_up(self, words: list[str]) -> Result:
        found = self.world.databases
        if words[0] == "compaction":
            if int(words[1]) <= found.compacted:
                error = "etcdserver: mvcc: required revision has been compacted"
                return Result(1, stderr=f"Error: {error}")
            sizes = {m["name"]: found.size(m["name"]) for m in self.world.members}
            found.sizes, found.history, found.compacted = sizes, 0, int(words[1])
        elif words[0] == "defrag":
            found.sizes.pop(self.machine.name, None)
            self.world.defragmented.append(self.machine.name)
        else:
            assert words == ["alarm", "disarm"], words
            found.alarms.clear()
        return OK

    def _leader(self) -> int:
        """The id of etcd's leader."""
        alive = {m["name"]: m["ID"] for m in self.world.members if self.world.machine_of(m["name"])}
        if self.world.leader not in alive:
            self.world.leader = next(iter(alive))
        return int(alive[self.world.leader])
