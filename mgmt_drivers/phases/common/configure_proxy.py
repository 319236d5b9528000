"""Make apt and Docker use the proxy."""

from typing import Protocol

from mgmt_drivers.host import docker, files
from mgmt_drivers.host.host import Host
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.secret import Secret

APT_FILE = "/etc/apt/apt.conf.d/95-mgmt-driver-proxy"
DOCKER_FILE = "/etc/systemd/system/docker.service.d/mgmt-driver-proxy.conf"
_MODE = "0600"  # a proxy's URL may carry a password


class HasProxy(Protocol):
    @property
    def proxy(self) -> Proxy | None: ...


class ConfigureProxy(Phase[HasProxy]):
    """Write the proxy where apt and Docker's service look for it."""

    title = "configure the proxy"

    def needed(self, host: Host, params: HasProxy) -> bool:
        if params.proxy is None:
            return False
        return not all(
            files.has(host, path, content, _MODE) for path, content in _files(params.proxy)
        )

    def apply(self, host: Host, params: HasProxy) -> None:
        assert params.proxy
        for path, content in _files(params.proxy):
            files.write(host, path, content, _MODE)
        if docker.is_installed(host):
            host.sudo("systemctl", "daemon-reload")
            host.sudo("systemctl", "try-restart", "docker")


def _files(proxy: Proxy) -> list[tuple[str, Secret]]:
    return [(APT_FILE, _apt(proxy)), (DOCKER_FILE, _docker(proxy))]


def _apt(proxy: Proxy) -> Secret:
    # apt knows no networks here, only hosts.
    direct = [word for word in proxy.no_proxy if "/" not in word and "*" not in word]
    lines = []
    for scheme, url in (("http", proxy.http), ("https", proxy.https)):
        if url:
            lines.append(f'Acquire::{scheme}::Proxy "{url.reveal()}";')
            lines += [f'Acquire::{scheme}::Proxy::{host} "DIRECT";' for host in direct]
    return Secret("\n".join(lines) + "\n")


def _docker(proxy: Proxy) -> Secret:
    pairs = [("HTTP_PROXY", proxy.http), ("HTTPS_PROXY", proxy.https)]
    lines = ["[Service]"]
    # A percent sign begins a specifier in a unit file.
    lines += [
        f'Environment="{name}={url.reveal().replace("%", "%%")}"' for name, url in pairs if url
    ]
    if proxy.no_proxy:
        lines.append(f'Environment="NO_PROXY={",".join(proxy.no_proxy)}"')
    return Secret("\n".join(lines) + "\n")
