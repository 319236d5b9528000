"""Container runtimes of a machine, as far as Kubernetes' images are concerned."""

import json
from typing import Protocol

from mgmt_drivers.host import docker, files
from mgmt_drivers.host.host import Host
from mgmt_drivers.params.kubernetes import DOCKER, KubernetesParams

_PULL_LIMIT = 1800.0  # seconds
_CTR = ("ctr", "--namespace", "k8s.io", "images")


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
        return image in host.sudo(*_CTR, "ls", "--quiet", f"name=={image}").split()

    def pull(self, host: Host, image: str) -> None:
        host.sudo(*_CTR, "pull", "--hosts-dir", self._HOSTS, image, timeout=_PULL_LIMIT)

    def allows_plain_http(self, host: Host, server: str) -> bool:
        return files.has(host, self._hosts_file(server), _plain_http(server))

    def allow_plain_http(self, host: Host, server: str) -> None:
        # Read anew at each pull: nothing is to be restarted.
        files.write(host, self._hosts_file(server), _plain_http(server))

    def _hosts_file(self, server: str) -> str:
        return f"{self._HOSTS}/{server}/hosts.toml"


def _plain_http(server: str) -> str:
    return f'server = "http://{server}"\n\n[host."http://{server}"]\n'


def runtime_of(params: KubernetesParams) -> ContainerRuntime:
    return Docker() if params.container_runtime == DOCKER else Containerd()
