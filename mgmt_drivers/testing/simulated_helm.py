"""Helm on a simulated machine; charts are kept as a file of their folder's name."""

import hashlib
import io
import json
import tarfile

from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.simulated_world import HELM, HELM_CONFIG, OK, Programs


class HelmPrograms(Programs):
    """Helm on a simulated machine."""

    def _unpack_helm(self, words: list[str], stdin: bytes) -> Result:
        if hashlib.sha256(stdin).hexdigest() != words[1]:
            return Result(1, stderr="the archive is another")
        with tarfile.open(fileobj=io.BytesIO(stdin)) as archive:
            program = archive.extractfile(words[0])
            assert program
            self.machine.files[HELM] = (program.read(), "755")
        return OK

    def _install_helm_sh(self, words: list[str], stdin: bytes) -> Result:
        self.machine.files[HELM] = (b"of a script", "755")
        return OK

    def _write_kubeconfig(self, words: list[str], stdin: bytes) -> Result:
        assert words == [str(len(stdin))], words
        before = self.machine.files.get(HELM_CONFIG)
        self.machine.files[HELM_CONFIG] = (stdin, "600")
        return OK if before == (stdin, "600") else Result(0, "changed\n")

    def _helm(self, words: list[str], stdin: bytes) -> Result:
        if HELM not in self.machine.files and "helm" not in self.machine.packages:
            return Result(127, stderr="helm: command not found")
        config = json.loads(self.machine.files[HELM_CONFIG][0])
        token = config["users"][0]["user"]["token"]
        known = map(self.world.account_token, self.world.accounts)
        return OK if token in known else Result(1, stderr="Unauthorized")

    def _render_chart(self, words: list[str], stdin: bytes) -> Result:
        """The values themselves are the objects of every chart."""
        release, namespace, version, chart, values = words
        assert len(stdin) == int(chart) + int(values), words
        if HELM not in self.machine.files:
            return Result(127, stderr="helm: command not found")
        text = stdin[int(chart):].decode().replace("RELEASE", f"{release}-{namespace}-{version}")
        return Result(0, text)

    def _pack_folder(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, self.machine.files.get(words[0], (b"", ""))[0].decode())

    def _unpack_folder(self, words: list[str], stdin: bytes) -> Result:
        assert words[1] == str(len(stdin)), words
        self.machine.files[words[0]] = (stdin, "755")
        return OK
