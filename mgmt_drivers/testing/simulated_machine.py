"""Files and services of a simulated machine: what scripts and programs do to them."""

import hashlib
import json

from mgmt_drivers.errors import ConnectionFailed
from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.simulated_world import (
    KUBECONFIG,
    KUBELET_CONF,
    NO,
    OK,
    Programs,
    minor,
    number,
)


class MachinePrograms(Programs):
    """Files and services of a simulated machine."""

    def _sh(self, words: list[str], stdin: bytes) -> Result:
        """A script, by its name; or one that the machine has, by its path."""
        if words[0] != "-c":
            if words[0] not in self.machine.files:
                return Result(127, stderr=f"{words[0]}: No such file or directory")
            name = words[0].rpartition("/")[2].removesuffix(".sh")
            return self._answer([name, *words[1:]], stdin)
        return self._answer(words[2:], stdin)

    def _has_program(self, words: list[str], stdin: bytes) -> Result:
        return NO

    def _describe_machine(self, words: list[str], stdin: bytes) -> Result:
        paths = [path for path in self.machine.files if path.startswith(words[0])]
        notes = [path.rpartition("/")[2] for path in paths]
        has = "none" if self.machine.reboots is None else "cloud-init"
        parts = [has, "cgroup2fs", "", *notes, ".", "", *self.world.peers, ".", ""]
        return Result(0, "\n".join([*parts, "ID=debian", "VERSION_ID=12", ""]))

    def _wait_for_cloud_init(self, words: list[str], stdin: bytes) -> Result:
        """A reboot ends all connections to the machine, that of its lock among them."""
        if self.machine.reboots:
            self.machine.reboots -= 1
            assert self.machine.holder
            self.machine.holder.broken = True
            raise ConnectionFailed(f"{self.machine.address}: connection lost")
        return OK

    def _set_conntrack(self, words: list[str], stdin: bytes) -> Result:
        return OK

    def _read_file(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, self.machine.files.get(words[0], (b"", ""))[0].decode())

    def _digest_files(self, words: list[str], stdin: bytes) -> Result:
        if not self.machine.files.keys() >= {*words}:
            return NO
        found = [self.machine.files[path] for path in words]
        lines = [f"{hashlib.sha256(content).hexdigest()}  -\n{mode}\n" for content, mode in found]
        return Result(0, "".join(lines))

    def _write_files(self, words: list[str], stdin: bytes) -> Result:
        for path, mode, size in zip(words[::3], words[1::3], words[2::3], strict=True):
            content, stdin = stdin[: int(size)], stdin[int(size) :]
            self.machine.files[path] = (content, f"{int(mode, 8):o}")
        assert not stdin, "more came than the lengths say"
        return OK

    def _show_unit(self, words: list[str], stdin: bytes) -> Result:
        unit, pending, *paths = words
        if unit not in self.machine.services or pending in self.machine.files:
            return NO
        return self._digest_files(paths, b"")

    def _apply_unit(self, words: list[str], stdin: bytes) -> Result:
        unit, pending, *write = words
        self.machine.files[pending] = (b"", "644")
        assert self._answer(write, stdin).ok, write
        self.machine.services.add(unit)
        del self.machine.files[pending]
        return OK

    def _test(self, words: list[str], stdin: bytes) -> Result:
        return OK if words[0] == "-b" or words[1] in self.machine.files else NO

    def _rm(self, words: list[str], stdin: bytes) -> Result:
        for path in words:
            self.machine.files.pop(path, None)
        return OK

    def _update_ca_certificates(self, words: list[str], stdin: bytes) -> Result:
        own = self.machine.files.get("/usr/local/share/ca-certificates/tacker-mgmt-drivers.crt")
        self.machine.files["/etc/ssl/certs/ca-certificates.crt"] = own or (b"", "644")
        return OK

    def _rmdir(self, words: list[str], stdin: bytes) -> Result:
        return OK

    def _chpasswd(self, words: list[str], stdin: bytes) -> Result:
        user, _, self.machine.password = stdin.decode().rstrip("\n").partition(":")
        assert user == "ubuntu", user
        return OK

    def _change_keys(self, words: list[str], stdin: bytes) -> Result:
        action, key = words
        self.machine.keys -= {key}
        self.machine.keys |= {key} if action == "add" else set()
        return OK

    def _chmod(self, words: list[str], stdin: bytes) -> Result:
        return OK

    def _mv(self, words: list[str], stdin: bytes) -> Result:
        self.machine.files[words[1]] = self.machine.files.pop(words[0])
        return OK

    def _ip(self, words: list[str], stdin: bytes) -> Result:
        if "route" in words:
            routes = [{"dst": "default", "gateway": "10.10.0.254"}, {"dst": "10.10.0.0/24"}]
            return Result(0, json.dumps(routes))
        own = {"local": self.machine.address, "prefixlen": 24}
        return Result(0, json.dumps([{}, {"ifname": "eth0", "mtu": 1442, "addr_info": [own]}]))

    def _df(self, words: list[str], stdin: bytes) -> Result:
        free, inodes = self.machine.free, self.machine.free_inodes
        if words[0] == "--output=avail":
            return Result(0, f"Avail\n {free}\n {free}\n")
        row = f"{20000 << 10} {free << 10} 2000 {inodes}\n"
        return Result(0, f"1K-blocks Avail Inodes IFree\n{row * len(words[1:])}")

    def _through_proxy(self, words: list[str], stdin: bytes) -> Result:
        assert words[0] in self.machine.files, f"{self.machine.name} has no {words[0]}"
        return self._answer(words[1:], stdin)

    def _without_proxy(self, words: list[str], stdin: bytes) -> Result:
        return self._answer(words, stdin)

    def _flock(self, words: list[str], stdin: bytes) -> Result:
        return self._answer(words[1:], stdin)

    def _sudo(self, words: list[str], stdin: bytes) -> Result:
        if self.machine.sudo_asks:
            return Result(1, stderr="sudo: a password is required")
        return self._answer(words[2:], stdin)

    def _true(self, words: list[str], stdin: bytes) -> Result:
        return OK

    def _id(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, "1000\n")

    def _date(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, f"{1_000_000 + self.machine.clock}\n")

    def _env(self, words: list[str], stdin: bytes) -> Result:
        if "dpkg" in words:
            self.machine.interrupted = False
            return OK
        if self.machine.interrupted:
            return Result(100, stderr="E: dpkg was interrupted")
        if words[-1].endswith("install_k8s_cluster.sh"):
            return self._install_kubernetes(dict(word.split("=", 1) for word in words[:-1]))
        self.machine.packages |= set(words)
        return OK

    def _install_kubernetes(self, settings: dict[str, str]) -> Result:
        """The script of the package: what is installed and wanted stays."""
        machine, wanted = self.machine, settings["KUBERNETES_VERSION"]
        names = settings.get("KUBERNETES_PACKAGES", "kubeadm kubelet").split()
        is_node = settings.get("IS_NODE") != "no" and KUBELET_CONF in machine.files
        packages = {"kubeadm", "containerd", *settings["EXTRA_PACKAGES"].split()}
        asks = wanted in self.world.newest and "kubelet" not in names
        has_all = is_node or machine.packages >= packages
        releases = {getattr(machine, name) for name in names} if has_all else {""}
        if asks or not all(f"{release}.".startswith(f"v{wanted}.") for release in releases):
            release = f"v{self.world.newest.get(wanted, wanted)}"
            if is_node and number(release) < max(map(number, releases)):
                return Result(100, stderr="E: Packages were downgraded and -y was used without ...")
            for name in names:
                setattr(machine, name, release)
        machine.packages |= packages
        return OK

    def _python3(self, words: list[str], stdin: bytes) -> Result:
        """The registries are asked: they take any password, or the one that the world knows.

        Or an image is fetched, or the exporter is asked.
        """
        if "--check" in words:
            runs = {"tacker-node-health.service", "prometheus-node-exporter.service"}
            assert words[0] in self.machine.files, f"{self.machine.name} has no {words[0]}"
            is_told = "prometheus-node-exporter" in self.machine.packages
            return OK if is_told and runs <= self.machine.services else NO
        if isinstance(json.loads(stdin), dict):
            return Result(0, "Loaded image: registry:2\n")
        password = self.world.registry_password
        answers = [None if password in ("", q.get("password", password)) else "401 Unauthorized"
                   for q in json.loads(stdin)]
        return Result(0, json.dumps(answers))

    def _dpkg_query(self, words: list[str], stdin: bytes) -> Result:
        return Result(0, "".join(f"installed {name}\n" for name in self.machine.packages))

    def _systemctl(self, words: list[str], stdin: bytes) -> Result:
        action, unit = words[0], words[-1]
        if action == "is-active":
            return OK if unit in self.machine.services else NO
        if action in ("stop", "disable"):
            self.machine.services -= {*words}
        elif action in ("restart", "reload-or-restart"):
            self.machine.services.add(unit)
        if unit == "kubelet" and action == "restart":
            assert minor(self.machine.kubelet) <= minor(self.world.release), "kubelet leads"
            self.machine.start_kubelet()
        return OK

    def _timeout(self, words: list[str], stdin: bytes) -> Result:
        """The virtual IP answers, and a kubelet that runs."""
        return OK if words[-1] != "10248" or self.machine.kubelet_runs else NO

    def _leave_out(self, words: list[str], stdin: bytes) -> Result:
        verb, _, name, *_ = words
        if verb == "guard":
            self.guards = True
        elif verb == "out":
            assert self.guards
            assert not self.machine.left_out, f"{self.machine.left_out} and {name} at once"
            self.machine.left_out.add(name)
        else:
            self.machine.left_out.discard(name)
        return OK

    def _check_haproxy(self, words: list[str], stdin: bytes) -> Result:
        return OK

    def _iptables(self, words: list[str], stdin: bytes) -> Result:
        return OK

    def _mkdir(self, words: list[str], stdin: bytes) -> Result:
        return OK

    def _give_folder(self, words: list[str], stdin: bytes) -> Result:
        return OK

    def _give_kubeconfig(self, words: list[str], stdin: bytes) -> Result:
        assert self.machine.role == "master", self.machine.name
        assert self.machine.name in self.world.nodes, f"{self.machine.name} has no admin.conf"
        known = self.machine.files.get(KUBECONFIG)
        self.machine.files[KUBECONFIG] = (b"", "600")
        return Result(0, "unchanged\n" if known else "changed\n")

    _bash = _sh
