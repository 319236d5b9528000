"""Container runtimes of a machine: Kubernetes' images, and what runs of them."""

import json
import secrets
from collections.abc import Sequence
from typing import Protocol

from mgmt_drivers.host import docker, files
from mgmt_drivers.host.host import Host
from mgmt_drivers.params.kubernetes import DOCKER, KubernetesParams
from mgmt_drivers.ssh.session import Result

_PULL_LIMIT = 1800.0  # seconds
_CTR = ("ctr", "--namespace", "k8s.io")
_CONTAINER_LABEL = "io.kubernetes.container.name"  # given by kubelet


class ContainerRuntime(Protocol):
    """What kubelet runs pods with."""

    service: str  # its systemd unit
    socket: str  # of its CRI, as a path

    def has(self, host: Host, image: str) -> bool: ...

    def pull(self, host: Host, image: str) -> None:
        """:raises CommandFailed: with the runtime's words"""

    def allows_plain_http(self, host: Host, server: str) -> bool:
        """Whether it asks the registry ``server`` (host and port) over plain HTTP."""
        ...

    def allow_plain_http(self, host: Host, server: str) -> None: ...

    def ask_in(self, host: Host, container: str, argv: Sequence[str], timeout: float) -> Result:
        """Run a command in the running container that a pod calls ``container``."""
        ...


class Docker:
    """Docker, which kubelet drives itself (dockershim)."""

    service = "docker"
    socket = "/var/run/dockershim.sock"
    _CONFIG = "/etc/docker/daemon.json"
    _REGISTRIES = "insecure-registries"

    def has(self, host: Host, image: str) -> bool:
        return docker.image_id(host, image) is not None

    def pull(self, host: Host, image: str) -> None:
        docker.pull(host, image)

    def allows_plain_http(self, host: Host, server: str) -> bool:
        return server in self._read(host).get(self._REGISTRIES, ())

    def allow_plain_http(self, host: Host, server: str) -> None:
        config = self._read(host)
        registries = [*config.get(self._REGISTRIES, ()), server]
        merged = {**config, self._REGISTRIES: registries}
        files.write(host, self._CONFIG, json.dumps(merged, indent=2) + "\n")
        # A reload takes new registries over and leaves containers running.
        host.sudo("systemctl", "reload", self.service)

    def ask_in(self, host: Host, container: str, argv: Sequence[str], timeout: float) -> Result:
        label = f"label={_CONTAINER_LABEL}={container}"
        found = host.ask("docker", "ps", "--quiet", "--filter", label).stdout.split()
        if not found:
            return _no_container(container)
        return host.ask("docker", "exec", found[0], *argv, timeout=timeout)

    def _read(self, host: Host) -> dict[str, list[str]]:
        seen = host.ask("cat", self._CONFIG)
        config: dict[str, list[str]] = json.loads(seen.stdout) if seen.ok and seen.stdout else {}
        return config


class Containerd:
    """containerd, through its CRI plugin."""

    service = "containerd"
    socket = "/run/containerd/containerd.sock"
    _HOSTS = "/etc/containerd/certs.d"

    def has(self, host: Host, image: str) -> bool:
        return image in host.sudo(*_CTR, "images", "ls", "--quiet", f"name=={image}").split()

    def pull(self, host: Host, image: str) -> None:
        host.sudo(*_CTR, "images", "pull", "--hosts-dir", self._HOSTS, image, timeout=_PULL_LIMIT)

    def allows_plain_http(self, host: Host, server: str) -> bool:
        return files.has(host, self._hosts_file(server), _plain_http(server))

    def allow_plain_http(self, host: Host, server: str) -> None:
        # Read anew at each pull: nothing is to be restarted.
        files.write(host, self._hosts_file(server), _plain_http(server))

    def ask_in(self, host: Host, container: str, argv: Sequence[str], timeout: float) -> Result:
        wanted = f'labels."{_CONTAINER_LABEL}"=={container}'
        made = host.ask(*_CTR, "containers", "list", "--quiet", wanted).stdout.split()
        running = host.ask(*_CTR, "tasks", "list").stdout.splitlines()
        ids = {line.split()[0] for line in running if line.endswith("RUNNING")}
        found = [id_ for id_ in made if id_ in ids]
        if not found:
            return _no_container(container)
        words = ("tasks", "exec", "--exec-id", secrets.token_hex(8), found[0])
        return host.ask(*_CTR, *words, *argv, timeout=timeout)

    def _hosts_file(self, server: str) -> str:
        return f"{self._HOSTS}/{server}/hosts.toml"


def _no_container(name: str) -> Result:
    return Result(status=1, stderr=f"no container {name} runs on the machine")


def _plain_http(server: str) -> str:
    return f'server = "http://{server}"\n\n[host."http://{server}"]\n'


def runtime_of(params: KubernetesParams) -> ContainerRuntime:
    return Docker() if params.container_runtime == DOCKER else Containerd()
