"""The members of a simulated etcd, and the images and containers of a machine."""

import json

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

    def _in_container(self, words: list[str], stdin: bytes) -> Result:
        assert words[1] == "etcd", words
        return self._etcdctl([word for word in words[2:] if not word.startswith("--")])

    def _etcdctl(self, words: list[str]) -> Result:
        members = self.world.members
        alive = [machine for m in members if (machine := self.world.machine_of(m["name"]))]
        running = [machine.name for machine in alive if machine.etcd_runs]
        if not self.machine.etcd_runs:
            return Result(1, stderr="etcd has no container that runs")
        if words[1:3] == ["member", "list"]:
            if (len(alive) - len(running)) * 2 >= len(members):  # since kubelet does not run
                return Result(1, stderr="context deadline exceeded")
            return Result(0, json.dumps({"members": members}))
        if words[1:3] == ["endpoint", "status"]:
            ids = [m["ID"] for m in members if m["name"] in running]
            status = [
                {"Status": {"header": {"member_id": number}, "leader": self._leader()}}
                for number in ids
            ]
            return Result(0 if len(ids) == len(members) else 1, json.dumps(status))
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

    def _leader(self) -> int:
        """The id of etcd's leader."""
        alive = {m["name"]: m["ID"] for m in self.world.members if self.world.machine_of(m["name"])}
        if self.world.leader not in alive:
            self.world.leader = next(iter(alive))
        return int(alive[self.world.leader])
