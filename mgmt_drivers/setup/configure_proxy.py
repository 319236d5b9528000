"""Make apt and container runtimes use the proxy."""

from collections.abc import Sequence

from mgmt_drivers import grammar
from mgmt_drivers.engine.phase import Change
from mgmt_drivers.machine import files, syntax
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.proxied import ENVIRONMENT_FILE
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.secret import Secret

APT_FILE = "/etc/apt/apt.conf.d/95-mgmt-driver-proxy"
_DROP_IN = "/etc/systemd/system/{}.service.d/mgmt-driver-proxy.conf"
# Marks that services have not read the files yet, since an attempt was interrupted.
_PENDING = f"{files.STATE_FOLDER}/proxy.pending"
_UNIT = Secret(f"[Service]\nEnvironmentFile={ENVIRONMENT_FILE}\n")
_MODE = "0600"  # a proxy's URL may contain a password


class ConfigureProxy(Change[object, Proxy]):
    """Write the proxy into the files of apt and of the given services, installed or not.

    :param proxy: the proxy; with None the machine is not changed, and with a proxy without URLs
        the files become empty
    """

    title = "configure the proxy"

    def __init__(self, proxy: Proxy | None, services: Sequence[str] = ()) -> None:
        self._proxy, self._services = proxy, services

    def look(self, host: Host, context: object) -> Proxy | None:
        proxy = self._proxy
        if proxy is None or host.ask("test", "-e", _PENDING).ok:
            return proxy
        return None if files.has_all(host, self._files(proxy)) else proxy

    def act(self, host: Host, context: object, proxy: Proxy) -> None:
        files.write_all(host, [File(_PENDING, ""), *self._files(proxy)])
        for service in self._services:
            if host.ask("systemctl", "is-active", "--quiet", service).ok:
                host.sudo("systemctl", "daemon-reload")
                host.sudo("systemctl", "restart", service)
        host.sudo("rm", _PENDING)

    def _files(self, proxy: Proxy) -> list[File]:
        contents = {APT_FILE: _apt(proxy), ENVIRONMENT_FILE: _environment(proxy)}
        contents |= {_DROP_IN.format(service): _UNIT for service in self._services}
        return [File(path, content, _MODE) for path, content in contents.items()]


def _apt(proxy: Proxy) -> Secret:
    # apt accepts only hosts here, no networks or domains; colons separate the parts of its names.
    direct = [word for word in proxy.no_proxy if ":" not in word and grammar.is_host(word)]
    text = ""
    for scheme, url in (("http", proxy.http), ("https", proxy.https)):
        if url:
            option = f"Acquire::{scheme}::Proxy"
            text += syntax.apt_option(option, url.reveal())
            text += "".join(syntax.apt_option(f"{option}::{host}", "DIRECT") for host in direct)
    return Secret(text)


def _environment(proxy: Proxy) -> Secret:
    pairs = [("HTTP_PROXY", proxy.http), ("HTTPS_PROXY", proxy.https)]
    text = "".join(syntax.variable(name, url.reveal()) for name, url in pairs if url)
    if proxy.no_proxy:
        text += syntax.variable("NO_PROXY", ",".join(proxy.no_proxy))
    return Secret(text)
