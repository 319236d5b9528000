"""Docker on a simulated machine, and the private registry in it."""

import json

from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.simulated_world import NO, OK, Programs


class RegistryPrograms(Programs):
    """Docker on a simulated machine, and the private registry in it."""

    def _docker(self, words: list[str], stdin: bytes) -> Result:
        machine, (verb, *rest) = self.machine, words
        if words[:2] == ["image", "inspect"]:
            return OK if rest[-1] in machine.images else NO
        if words[:2] == ["container", "inspect"]:
            return Result(0, machine.container) if machine.container else Result(1, "[]")
        if verb in ("tag", "pull"):
            machine.images.add(rest[1])
        if verb == "run":
            name, _, value = rest[rest.index("--label") + 1].partition("=")
            labels = {"Config": {"Labels": {name: value}}, "State": {"Running": True}}
            machine.container = json.dumps([labels])
        return OK

    def _ss(self, words: list[str], stdin: bytes) -> Result:
        return OK

    def _unpack_bundle(self, words: list[str], stdin: bytes) -> Result:
        """The bundle has packages for the machine's own system."""
        (folder,) = words
        assert stdin, "no bundle"
        self.machine.files[f"{folder}/packages/debian-12"] = (b"", "644")
        return OK

    def _ask_registry(self, words: list[str], stdin: bytes) -> Result:
        if words[0] != "5000":
            return Result(0, "HTTP/1.1 404 File not found\r\n")
        wanted = "401" if "/etc/private_registry/htpasswd" in self.machine.files else "200"
        return Result(0, f"HTTP/1.0 {wanted} as is right\r\n")
