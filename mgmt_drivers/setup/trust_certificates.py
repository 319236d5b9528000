"""Let a machine trust CAs of its site, for packages, proxies and images."""

from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change
from mgmt_drivers.machine import files
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host

# Debian's place for the administrator's own CAs (update-ca-certificates(8)).
FILE = "/usr/local/share/ca-certificates/tacker-mgmt-drivers.crt"
# Marks that the bundle lacks the file, or that services have not read the bundle yet.
_PENDING = f"{files.STATE_FOLDER}/site-cas.pending"


class TrustCertificates(Change[object, bool]):
    """Add CAs to the machine's bundle, which the given services read when they start.

    :param certificates: the CAs in PEM; None takes those away that were added before
    :param services: without any, a later step with services restarts them
    """

    title = "trust the site's CAs"

    def __init__(self, certificates: bytes | None, services: Sequence[str] = ()) -> None:
        self._certificates, self._services = certificates, services

    def look(self, host: Host, context: object) -> bool | None:
        if host.ask("test", "-e", _PENDING).ok:
            return True
        if self._certificates is None:
            return host.ask("test", "-e", FILE).ok or None
        return None if files.has(host, FILE, self._certificates) else True

    def act(self, host: Host, context: object, change: bool) -> None:
        wanted = [File(FILE, self._certificates)] if self._certificates else []
        files.write_all(host, [File(_PENDING, ""), *wanted])
        if not wanted:
            host.sudo("rm", "-f", FILE)
        host.sudo("update-ca-certificates")
        for service in self._services:
            if host.ask("systemctl", "is-active", "--quiet", service).ok:
                host.sudo("systemctl", "restart", service)
        if self._services:
            host.sudo("rm", _PENDING)
