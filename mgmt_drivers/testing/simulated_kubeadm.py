"""kubeadm on a simulated machine, and the certificates that it makes."""

import base64
import json
from typing import Any

from mgmt_drivers import package_yaml
from mgmt_drivers.cluster.certificates.certificates import (
    AUTHORITIES,
    CERTIFICATES,
    KUBELET,
    RENEWED,
    SERVING,
)
from mgmt_drivers.cluster.kubeadm.control_plane import PROGRAMS, WITH_ETCD
from mgmt_drivers.cluster.kubeadm.patches import KUBELET_PATCH
from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.made_certificates import lasting, naming, serving
from mgmt_drivers.testing.simulated_backup import Backups
from mgmt_drivers.testing.simulated_world import (
    API_CERTIFICATE,
    CA,
    ENCRYPTION,
    ETCD_DATA,
    IMAGE_NAMES,
    KUBELET_CONF,
    MEMBER,
    NO,
    OK,
    SYSCTLS,
    arguments_of,
    minor,
)


def _api_server(stdin: bytes) -> dict[str, Any]:
    """The part of the apiserver in the configuration of an init."""
    documents = {document["kind"]: document for document in package_yaml.load_all(stdin)}
    return dict(documents["ClusterConfiguration"]["apiServer"])


UNINITIALIZED = {
    "key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true",
    "effect": "NoSchedule",
}
# The file as encryption-key.sh writes it; written again here, so that a change of it shows.
_NEW_ENCRYPTION = b"""\
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets]
    providers:
      - secretbox:
          keys:
            - name: key1
              secret: %s
      - identity: {}
""" % base64.b64encode(b"1" * 32)


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
        machine, (verb, *names) = self.machine, words
        assert (*names,) in (PROGRAMS, WITH_ETCD), names
        runs = {*machine.programs, *(["etcd"] if machine.etcd_runs else [])}
        running = [name for name in names if name in runs]
        shown = "".join(f"{name} {machine.ended.count(name)}\n" for name in running)
        if verb == "end":
            masters = [m for m in self.world.machines.values() if m.role == "master"]
            told = [m for m in masters if machine.name in m.left_out]
            assert told or len(masters) == 1, f"HAProxy sends requests to {machine.name}"
            machine.ended += running
            machine.programs.clear()
            machine.etcd_runs = machine.etcd_runs and "etcd" not in names
            machine.start_kubelet()
        elif machine.certificates and machine.kubelet_runs:  # of a machine that has joined
            for program in names:
                if program not in {*running, *machine.failed}:
                    machine.start(program)  # a moment later
            self.world.write_secrets()
        return Result(0, shown)

    def _issue_api_certificate(self, words: list[str], stdin: bytes) -> Result:
        names = _api_server(stdin)["certSANs"]
        self.machine.files[API_CERTIFICATE] = (naming(*names), "644")
        self.machine.certify(365.0, "apiserver")
        return OK

    def _issue_kubelet_certificate(self, words: list[str], stdin: bytes) -> Result:
        assert AUTHORITIES[0] in self.machine.certificates, f"{self.machine.name} has no CA"
        config = package_yaml.load_all(stdin)[0]
        return Result(0, config["nodeRegistration"]["name"] + "\n")

    def _install_kubelet_certificate(self, words: list[str], stdin: bytes) -> Result:
        assert stdin.decode() == f"{self.machine.name}\n---\n", "the certificate is another node's"
        self.machine.certify(365.0, KUBELET)
        self.machine.start_kubelet()
        return OK

    def _kubelet_serving(self, words: list[str], stdin: bytes) -> Result:
        verb, *words = words
        if verb == "issue":
            assert AUTHORITIES[0] in self.machine.certificates, f"{self.machine.name} has no CA"
            pairs = zip(words[::2], words[1::2], strict=True)
            return Result(0, "".join(f"{serving(*pair)}---\n" for pair in pairs))
        if verb == "install":
            issued, _, stdin = stdin.partition(b"\n---\n")
            self._serve(f"{issued.decode()}\n")
            return self._answer(words[1:], stdin)
        assert verb == "list", verb
        return Result(0, "".join(
            f"{machine.address}\n" for machine in self.world.machines.values()
            if machine.address in words[1:] and machine.kubelet_runs
            and machine.certificates.get(SERVING, (1e9, 0))[0] * 86400.0 < float(words[0])
        ))

    def _serve(self, issued: str) -> None:
        """kubelet gets a certificate, which must be that of the machine."""
        assert issued == serving(self.machine.name, self.machine.address), issued
        self.machine.certify(365.0, SERVING)

    def _kubeadm(self, words: list[str], stdin: bytes) -> Result:
        if words[0] == "version":
            return Result(0, f"{self.machine.kubeadm}\n")
        if words[:2] == ["config", "images"]:
            images = [f"r/{name}:{self.machine.kubeadm}" for name in IMAGE_NAMES]
            return Result(0, "\n".join([*images, "r/etcd:3.6.8-0", "r/pause:3.2\n"]))
        reason = self.world.databases.why_not_written(self.world.alive_members())
        if reason and words[0] == "upgrade":
            return Result(1, stderr=reason)
        if words[0] == "upgrade":
            return self._upgraded(words[1:])
        if words[:3] == ["certs", "renew", "all"]:
            self.machine.certify(self.world.validity, *RENEWED)
            return OK
        if "upload-certs" in words:
            self.world.certificates = "bootstrap-token-0wner0"
        return OK

    def _create_token(self, words: list[str], stdin: bytes) -> Result:
        if reason := self.world.databases.why_not_written(self.world.alive_members()):
            return Result(1, stderr=f"Error from server: {reason}")
        made = package_yaml.load_all(stdin)[0]["bootstrapTokens"][0]
        assert words[0] == made["description"], words
        self.world.tokens, self.world.certificates = {made["token"].partition(".")[0]}, ""
        return Result(0, f"{CA}\n---\n{self._answer(words[1:], b'').stdout}")

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
        self._patch(words[words.index("--patches") + 1] if "--patches" in words else "")
        if machine.role == "master":
            self._check_settings()
            machine.apiserver = world.release
            machine.certify(365.0, *RENEWED)
            for program in PROGRAMS:
                machine.start(program)
        return OK

    def _run_kubeadm(self, words: list[str], stdin: bytes) -> Result:
        """kubeadm makes a cluster or joins it, or is reset."""
        machine = self.machine
        if words[3] == "reset":
            return self._reset()
        assert words[1] == machine.marker, words
        if machine.marker in machine.files:
            return OK
        self._clear(*machine.markers)
        if words[3] == "init":
            return self._init(words, stdin)
        return self._join(words, stdin)

    def _init(self, words: list[str], stdin: bytes) -> Result:
        machine, world = self.machine, self.world
        assert ETCD_DATA not in machine.files, "etcd has data"
        if "validate-config" in words:
            number = int(words[words.index("validate-config") + 1])
            *validated, stdin = stdin.split(b"\n...\n")
            assert len(validated) == number, words
            if any(b"refused: true" in config for config in validated):
                return Result(1, stderr='strict decoding error: unknown field "refused"')
        if "restore-etcd" in words:
            self._laid_down(words[words.index("restore-etcd") + 1 :])
        assert "encryption-key" in words, words
        if ENCRYPTION not in machine.files:  # which a backup may bring
            machine.files[ENCRYPTION] = (_NEW_ENCRYPTION, "600")
        _, _, *given = words[words.index("kubelet-serving") + 1 :]
        self._serve(serving(*given[:2]))
        server = _api_server(stdin)
        world.settings, world.api_names = arguments_of(server), server["certSANs"]
        self._check_settings()
        world.release = machine.kubeadm
        return self._joined(package_yaml.load_all(stdin)[0])

    def _join(self, words: list[str], stdin: bytes) -> Result:
        machine, world = self.machine, self.world
        if machine.name in world.nodes:
            return Result(1, stderr=f"a Node with name {machine.name} exists")
        urls = {url for member in world.members for url in member["peerURLs"]}
        if f"https://{machine.address}:2380" in urls:
            return Result(1, stderr="etcd has a member at this address")
        kubeconfig, *encryption, certificate, join = stdin.decode().split("\n---\n")
        kubeconfig, join = map(package_yaml.load, (kubeconfig, join))
        if kubeconfig["users"][0]["user"]["token"].partition(".")[0] not in world.tokens:
            return Result(1, stderr="the token is not known")
        ca = kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"]
        if base64.b64decode(ca).decode() != CA:
            return Result(1, stderr="the CA is another")
        # Nobody but those whom the kubeconfig authenticates may read anything.
        assert join["discovery"].keys() == {"file"}
        assert ("encryption-key" in words) == bool(encryption), words
        if "controlPlane" in join:
            if not world.certificates:
                return Result(1, stderr="no certificates are uploaded")
            self._encrypt(*map(package_yaml.load, encryption))
            self._check_settings()
        assert "kubelet-serving" in words, words
        self._serve(f"{certificate}\n")
        return self._joined(join)

    def _joined(self, config: dict[str, Any]) -> Result:
        """The node registers itself with labels and taints; kubelet has a patched configuration."""
        self.world.join(self.machine)
        node, registration = self.world.nodes[self.machine.name], config["nodeRegistration"]
        arguments = registration["kubeletExtraArgs"]
        if isinstance(arguments, list):
            arguments = {argument["name"]: argument["value"] for argument in arguments}
        labels = filter(None, arguments.get("node-labels", "").split(","))
        node["metadata"]["labels"] |= dict(label.split("=") for label in labels)
        node["spec"]["taints"] = [*registration.get("taints", [])]
        if arguments.get("cloud-provider") == "external":
            node["spec"]["taints"].append(UNINITIALIZED)
        self._patch(config.get("patches", {}).get("directory", ""))
        self.machine.files[self.machine.marker] = (b"", "644")
        return OK

    def _patch(self, folder: str) -> None:
        """Note the fields of kubelet that a folder of patches has."""
        content, _ = self.machine.files.get(f"{folder}/{KUBELET_PATCH}", (b"{}", ""))
        self.machine.kubelet_fields = json.loads(content)

    def _encrypt(self, *content: object) -> None:
        """Write the file by which the apiserver encrypts Secrets, if there is one."""
        for one in content:
            self.machine.files[ENCRYPTION] = (package_yaml.dump(one).encode(), "600")

    def _check_settings(self) -> None:
        """The apiserver has the files that its arguments name, for root alone but for the CA."""
        files = self.machine.files
        for name, value in self.world.settings.items():
            if value.startswith("/etc/") and not value.endswith("/ca.crt"):
                assert files.get(value, ("", ""))[1] == "600", f"{self.machine.name}: {name}"

    def _kernel_defaults(self, words: list[str], stdin: bytes) -> Result:
        self.machine.files[SYSCTLS] = (b"", "644")
        return OK

    def _restrict_files(self, words: list[str], stdin: bytes) -> Result:
        return OK

    def _lead_kubelet(self, words: list[str], stdin: bytes) -> Result:
        """kubelet starts anew, unless the apiserver of its node is upgraded already."""
        if words[-1] == self.machine.apiserver:
            return OK
        return self._answer(["systemctl", "restart", "kubelet"], b"")

    def _waking_kubelet(self, words: list[str], stdin: bytes) -> Result:
        assert words[1] == self.machine.name, words
        return self._answer(words[3:], stdin)

    def _restart_kubelet(self, words: list[str], stdin: bytes) -> Result:
        assert self._answer(words, stdin).ok, words
        return self._answer(["systemctl", "restart", "kubelet"], b"")

    def _reset(self) -> Result:
        name = self.machine.name
        members = {member["name"] for member in self.world.members}
        assert name not in members, "etcd has its member"
        self._clear(MEMBER, self.machine.marker, KUBELET_CONF)
        self.world.reset.append(name)
        return OK

    def _clear(self, *paths: str) -> None:
        """A reset takes what an image has of another node, data of etcd, too."""
        for path in (*paths, *([ETCD_DATA] if paths else [])):
            self.machine.files.pop(path, None)

    def _names_node(self, words: list[str], stdin: bytes) -> Result:
        """The certificate of kubelet is that of the machine, or of the node of its image."""
        assert words[1] == self.machine.node.short_id
        return OK if KUBELET in self.machine.certificates else NO
