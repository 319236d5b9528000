"""The volume of a simulated storage server."""



from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.simulated_world import NO, OK, Programs


class StoragePrograms(Programs):
    """The volume of a simulated storage server."""

    def _find_disk(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, "/dev/disk/by-id/virtio-1\n")

    def _blkid(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, "UUID=u-1\nTYPE=ext4\n") if self.world.formatted else Result(2)

    def _dd(self, words: list[str], stdin: bytes) -> Result:
        return OK

    def _wipefs(self, words: list[str], stdin: bytes) -> Result:
        return OK

    def _mkfs_ext4(self, words: list[str], stdin: bytes) -> Result:
        self.world.formatted += 1
        return OK

    def _findmnt(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, "u-1\n") if f"mounted {words[-1]}" in self.machine.files else NO

    def _mount(self, words: list[str], stdin: bytes) -> Result:
        assert b"UUID=u-1 " + words[0].encode() in self.machine.files["/etc/fstab"][0]
        self.machine.files[f"mounted {words[0]}"] = (b"", "")
        return OK

    def _exportfs(self, words: list[str], stdin: bytes) -> Result:
        text = self.machine.files.get("/etc/exports.d/mgmt-driver.exports", (b"", ""))[0].decode()
        mounted = "mounted /volume" in self.machine.files
        return Result(0, "\n".join(text.splitlines()[1:]) if mounted else "")
