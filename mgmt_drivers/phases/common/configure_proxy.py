"""Make apt and container runtimes use the proxy."""

from collections.abc import Sequence
from typing import Protocol

from mgmt_drivers.host import files
from mgmt_drivers.host.host import Host
from mgmt_drivers.host.proxied import ENVIRONMENT_FILE
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.secret import Secret

APT_FILE = "/etc/apt/apt.conf.d/95-mgmt-driver-proxy"
_DROP_IN = "/etc/systemd/system/{}.service.d/mgmt-driver-proxy.conf"
# A mark that services have not read the files yet: broken off, the phase is still needed.
_PENDING = f"{files.STATE_FOLDER}/proxy.pending"
_UNIT = Secret(f"[Service]\nEnvironmentFile={ENVIRONMENT_FILE}\n")
_ESCAPED = str.maketrans({character: f"\\{character}" for character in '"\\`$'})
_MODE = "0600"  # a proxy's URL may carry a password


class HasProxy(Protocol):
    @property
    def proxy(self) -> Proxy | None: ...


class ConfigureProxy(Phase[HasProxy]):
    """Write the proxy where apt and the given services look for it.

    The services need not be installed yet.
    """

    title = "configure the proxy"

    def __init__(self, services: Sequence[str]) -> None:
        self._services = services

    def needed(self, host: Host, context: HasProxy) -> bool:
        if context.proxy is None:
            return False
        if host.ask("test", "-e", _PENDING).ok:
            return True
        wanted = self._files(context.proxy)
        return not all(files.has(host, path, content, _MODE) for path, content in wanted)

    def apply(self, host: Host, context: HasProxy) -> None:
        assert context.proxy
        files.write(host, _PENDING, "")
        for path, content in self._files(context.proxy):
            files.write(host, path, content, _MODE)
        for service in self._services:
            if host.ask("systemctl", "is-active", "--quiet", service).ok:
                host.sudo("systemctl", "daemon-reload")
                host.sudo("systemctl", "restart", service)
        host.sudo("rm", _PENDING)

    def _files(self, proxy: Proxy) -> list[tuple[str, Secret]]:
        return [
            (APT_FILE, _apt(proxy)),
            (ENVIRONMENT_FILE, _environment(proxy)),
            *((_DROP_IN.format(service), _UNIT) for service in self._services),
        ]


def _apt(proxy: Proxy) -> Secret:
    # apt knows no networks here, only hosts.
    direct = [word for word in proxy.no_proxy if "/" not in word and "*" not in word]
    lines = []
    for scheme, url in (("http", proxy.http), ("https", proxy.https)):
        if url:
            lines.append(f'Acquire::{scheme}::Proxy "{url.reveal()}";')
            lines += [f'Acquire::{scheme}::Proxy::{host} "DIRECT";' for host in direct]
    return Secret("\n".join(lines) + "\n")


def _environment(proxy: Proxy) -> Secret:
    pairs = [("HTTP_PROXY", proxy.http), ("HTTPS_PROXY", proxy.https)]
    lines = [f'{name}="{url.reveal().translate(_ESCAPED)}"' for name, url in pairs if url]
    if proxy.no_proxy:
        lines.append(f'NO_PROXY="{",".join(proxy.no_proxy)}"')
    return Secret("\n".join(lines) + "\n")
