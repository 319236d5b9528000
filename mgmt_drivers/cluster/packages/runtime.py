"""Container runtimes of a machine: Kubernetes' images, and what runs of them."""

import json
import secrets
from collections.abc import Sequence

from mgmt_drivers.cluster.cluster_params import DOCKER, KubernetesParams
from mgmt_drivers.cluster.registries.registries_params import LOGINS_FOLDER, Registry
from mgmt_drivers.machine import blocks, docker, files, syntax, units
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.proxied import through_proxy
from mgmt_drivers.machine.script import Script
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import LARGE_OUTPUT, LIST_OUTPUT

_PULL_LIMIT = 1800.0  # seconds
_CTR = ("ctr", "--namespace", "k8s.io")
_CA_FILE = "tacker-mgmt-drivers.crt"  # its ending is what Docker looks for
STATIC_PODS = Script(__package__, "static-pods")


class Docker:
    """Docker, which kubelet drives itself (dockershim).

    ``service`` is its systemd unit, ``socket`` the path of its CRI.
    """

    service = "docker"
    socket = "/var/run/dockershim.sock"
    _REGISTRIES = "insecure-registries"
    _CERTIFICATES = "/etc/docker/certs.d"

    def __init__(self, registries: Sequence[Registry] = ()) -> None:
        """:param registries: those that nodes are configured with"""
        self._shown = [f"{registry.server}/" for registry in registries if registry.shown_login]

    def find_missing(self, host: Host, images: Sequence[str]) -> list[str]:
        return [image for image in images if not docker.has_image(host, image)]

    def pull(self, host: Host, image: str) -> None:
        """:raises CommandFailed: with the runtime's words"""
        docker.pull(host, image, LOGINS_FOLDER if image.startswith(tuple(self._shown)) else "")

    def trust(self, host: Host, registries: Sequence[Registry], gone: Sequence[Registry]) -> None:
        """Pull from them over plain HTTP, or with their CA, and forget those that are gone.

        What the image brought stays.
        """
        for registry in gone:
            _remove(host, f"{self._CERTIFICATES}/{registry.server}", _CA_FILE)
        for registry in registries:
            _write_certificate(host, f"{self._CERTIFICATES}/{registry.server}", registry)
        config = files.read_json(host, docker.CONFIG)
        before, former = config.get(self._REGISTRIES, []), [registry.server for registry in gone]
        plain = [registry.server for registry in registries if registry.plain_http]
        after = list(dict.fromkeys([*(s for s in before if s not in former), *plain]))
        content = json.dumps({**config, self._REGISTRIES: after}, indent=2) + "\n"
        wanted = [File(docker.CONFIG, content)]
        # A reload takes new registries over and leaves containers running.
        if (before or after) and not units.is_as_configured(host, self.service, wanted):
            units.configure(host, self.service, wanted)
        if plain:
            docker.reload_plain_http(host, plain)

    def run_prefix(self, image: str, folder: str) -> tuple[str, ...]:
        """The beginning of a command that runs once in an image, with a folder of the machine."""
        mount = ("--volume", f"{folder}:{folder}")
        return ("docker", "run", "--rm", "--network", "none", *mount, image)


class Containerd:
    """containerd, through its CRI plugin; has what :class:`Docker` has."""

    service = "containerd"
    socket = "/run/containerd/containerd.sock"
    _HOSTS = "/etc/containerd/certs.d"

    def __init__(self, behind_proxy: bool = False) -> None:
        self._behind_proxy = behind_proxy

    def find_missing(self, host: Host, images: Sequence[str]) -> list[str]:
        present = {*host.sudo(*_CTR, "images", "ls", "--quiet", limit=LIST_OUTPUT).split()}
        return [image for image in images if image not in present]

    def pull(self, host: Host, image: str) -> None:
        # ctr fetches them, not the service.
        words = (*_CTR, "images", "pull", "--hosts-dir", self._HOSTS, image)
        command = through_proxy(words) if self._behind_proxy else words
        host.sudo(*command, timeout=_PULL_LIMIT, limit=LARGE_OUTPUT)

    def trust(self, host: Host, registries: Sequence[Registry], gone: Sequence[Registry]) -> None:
        for folder in (f"{self._HOSTS}/{registry.server}" for registry in gone):
            rest = blocks.without(files.read(host, f"{folder}/hosts.toml"))
            if rest.strip():
                files.write(host, f"{folder}/hosts.toml", rest)
            _remove(host, folder, _CA_FILE, *([] if rest.strip() else ["hosts.toml"]))
        # All is read anew at each pull: nothing is to be restarted.
        for registry in registries:
            if registry.is_hub and not registry.certificate:
                continue  # containerd knows where its API is
            folder = f"{self._HOSTS}/{registry.server}"
            certificate = _write_certificate(host, folder, registry)
            path = f"{folder}/hosts.toml"
            text = _hosts_toml(files.read(host, path), registry, certificate)
            if registry.shown_login:
                files.write(host, path, Secret(text), "0600")
            else:
                files.write(host, path, text)

    def run_prefix(self, image: str, folder: str) -> tuple[str, ...]:
        mount = ("--mount", f"type=bind,src={folder},dst={folder},options=rbind:rw")
        return (*_CTR, "run", "--rm", *mount, image, secrets.token_hex(8))


ContainerRuntime = Docker | Containerd


def exec_prefix(runtime: ContainerRuntime, node: str, pod: str) -> tuple[str, ...]:
    """The beginning of a command that runs in a static pod of a control-plane node."""
    return STATIC_PODS.command("exec", runtime.service, node, pod)


def _write_certificate(host: Host, folder: str, registry: Registry) -> str:
    """Write the CA of a registry, if it has one, into the registry's folder; returns the path."""
    if not registry.certificate:
        return ""
    path = f"{folder}/{_CA_FILE}"
    files.write(host, path, registry.certificate)
    return path


def _remove(host: Host, folder: str, *names: str) -> None:
    """Remove files, and their folder unless it has others."""
    host.sudo("rm", "--force", *(f"{folder}/{name}" for name in names))
    host.ask("rmdir", folder)


def _hosts_toml(before: str, registry: Registry, certificate: str) -> str:
    """The file with our table in it, unless the image brought one for the same URL.

    Any other that the image brought is tried first (containerd's documentation,
    "Registry Configuration"). No command line shows the login of Kubernetes' images, and
    containerd itself pulls with it, such as a sandbox's image.
    """
    rest = blocks.without(before)
    table = f"[host.{syntax.toml(registry.url)}]\n"
    if table in rest:
        return rest
    table += f"ca = {syntax.toml(certificate)}\n" if certificate else ""
    if registry.shown_login:
        basic = syntax.toml(f"Basic {registry.shown_login.basic.reveal()}")
        table += f"[host.{syntax.toml(registry.url)}.header]\nauthorization = {basic}\n"
    # A key of the whole file's cannot come after another table.
    top = "" if rest.strip() else f"server = {syntax.toml(registry.url)}\n\n"
    return blocks.replaced(rest, top + table)


def runtime_of(params: KubernetesParams) -> ContainerRuntime:
    if params.container_runtime == DOCKER:
        return Docker(params.registries)
    return Containerd(behind_proxy=params.proxy is not None)
