"""kubeadm on a simulated machine, and the certificates that it makes."""

import base64

import yaml

from mgmt_drivers.cluster.certificates.certificates import (
    CERTIFICATES,
    PROGRAMS,
    RENEWED,
)
from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.made_certificates import lasting
from mgmt_drivers.testing.simulated_backup import Backups
from mgmt_drivers.testing.simulated_world import (
    CA,
    IMAGE_NAMES,
    KUBELET_CONF,
    MEMBER,
    OK,
    minor,
)


class KubeadmPrograms(Backups):
    """kubeadm on a simulated machine, and the certificates that it makes."""

    def _show_certificates(self, words: list[str], stdin: bytes) -> Result:
        made, text = self.machine.certificates, ""
        for path in words:
            if path in self.machine.files or CERTIFICATES.get(path) in made:
                text += f"{path}\n"
            if CERTIFICATES.get(path) in made:
                text += lasting(*made[CERTIFICATES[path]])
        return Result(0, text)

    def _programs(self, words: list[str], stdin: bytes) -> Result:
        machine, (verb, _, *names) = self.machine, words
        assert (*names,) == PROGRAMS, names
        running = [name for name in names if name in machine.programs]
        shown = "".join(f"{name} {machine.ended.count(name)}\n" for name in running)
        if verb == "end":
            machine.ended += running
            machine.programs.clear()
            machine.failed |= {*running}  # kubelet waits
        elif machine.certificates:  # of a machine that has joined
            for program in names:
                if program not in {*running, *machine.failed}:
                    machine.start(program)  # a moment later
        return Result(0, shown)

    def _kubeadm(self, words: list[str], stdin: bytes) -> Result:
        if words[0] == "version":
            return Result(0, f"{self.machine.kubeadm}\n")
        if words[:2] == ["config", "images"]:
            images = [f"r/{name}:{self.machine.kubeadm}" for name in IMAGE_NAMES]
            return Result(0, "\n".join([*images, "r/etcd:3.6.8-0", "r/pause:3.2\n"]))
        if words[0] == "upgrade":
            return self._upgraded(words[1:])
        if words[:3] == ["certs", "renew", "all"]:
            self.machine.certify(365.0, *RENEWED)
            return OK
        if "upload-certs" in words:
            self.world.certificates = "bootstrap-token-0wner0"
        return OK

    def _create_token(self, words: list[str], stdin: bytes) -> Result:
        made = next(yaml.safe_load_all(stdin))["bootstrapTokens"][0]["token"]
        self.world.tokens.add(made.partition(".")[0])
        return Result(0, CA)

    def _upgraded(self, words: list[str]) -> Result:
        machine, world = self.machine, self.world
        assert f"r/kube-proxy:{machine.kubeadm}" in machine.images, "an image is missing"
        if words[0] == "apply":
            assert words[1] == machine.kubeadm
            if minor(machine.kubeadm) - minor(world.release) not in (0, 1):
                return Result(1, stderr="the skew is too great")
            world.release = machine.kubeadm
        elif world.release != machine.kubeadm:
            return Result(1, stderr=f"the cluster has {world.release}")
        if machine.role == "master":
            machine.apiserver = world.release
            machine.certify(365.0, *RENEWED)
            for program in PROGRAMS:
                machine.start(program)
        return OK

    def _run_kubeadm(self, words: list[str], stdin: bytes) -> Result:
        """kubeadm makes a cluster or joins it, or is reset."""
        machine, world = self.machine, self.world
        if words[3] == "reset":
            return self._reset()
        if MEMBER in machine.files:
            return OK
        if words[3] == "init":
            if "restore-etcd" in words:
                self._laid_down(words[words.index("restore-etcd") + 1 :])
            world.join(machine)
            machine.files[MEMBER] = (b"", "644")
            return OK
        if machine.name in world.nodes:
            return Result(1, stderr=f"a Node with name {machine.name} exists")
        urls = {url for member in world.members for url in member["peerURLs"]}
        if f"https://{machine.address}:2380" in urls:
            return Result(1, stderr="etcd has a member at this address")
        kubeconfig, join = yaml.safe_load_all(stdin)
        if kubeconfig["users"][0]["user"]["token"].partition(".")[0] not in world.tokens:
            return Result(1, stderr="the token is not known")
        ca = kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"]
        if base64.b64decode(ca).decode() != CA:
            return Result(1, stderr="the CA is another")
        # Nobody but those whom the kubeconfig authenticates may read anything.
        assert join["discovery"].keys() == {"file"}
        if "controlPlane" in join and not world.certificates:
            return Result(1, stderr="no certificates are uploaded")
        world.join(machine)
        machine.files[MEMBER] = (b"", "644")
        return OK

    def _reset(self) -> Result:
        name = self.machine.name
        members = {member["name"] for member in self.world.members}
        assert name not in members, "etcd has its member"
        for path in (MEMBER, KUBELET_CONF):
            self.machine.files.pop(path, None)
        self.world.reset.append(name)
        return OK
