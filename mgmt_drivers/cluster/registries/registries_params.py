"""The parameter ``private_registry_connection_info``: registries that nodes pull from."""

import base64
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from mgmt_drivers import grammar
from mgmt_drivers.params.reader import Reader
from mgmt_drivers.secret import Secret

NAME = "private_registry_connection_info"
_HTTP, _HTTPS = "0", "1"
_BEGIN = b"-----BEGIN CERTIFICATE-----"
# Names that systems' own files of hosts give to the machine and its links.
_OWN_NAMES = frozenset((
    "localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback", "ip6-localnet",
    "ip6-mcastprefix", "ip6-allnodes", "ip6-allrouters", "ip6-allhosts",
))
_OWN_DOMAINS = (".localhost", ".localdomain", ".localdomain4", ".localdomain6")


@dataclass(frozen=True)
class Login:
    username: str
    password: Secret

    @property
    def basic(self) -> Secret:
        """Both, as Docker's files and the Basic scheme of HTTP write them."""
        pair = f"{self.username}:{self.password.reveal()}"
        return Secret(base64.b64encode(pair.encode()).decode())


@dataclass(frozen=True)
class HostEntry:
    """A name that no name server knows, and its address."""

    address: str
    name: str

    def __str__(self) -> str:
        return f"{self.address} {self.name}"


@dataclass(frozen=True)
class Registry:
    """One registry; ``server`` is its host, with a port unless that is the scheme's own.

    ``certificate`` is that of the CA which signs the registry's, besides those the
    machine trusts anyway.
    """

    server: str
    plain_http: bool = False
    login: Login | None = None
    certificate: Path | None = None
    host_entry: HostEntry | None = None

    @property
    def scheme(self) -> str:
        return "http" if self.plain_http else "https"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.server}"

    @property
    def host(self) -> str:
        return self.server.partition(":")[0]


def read_registries(reader: Reader, package: Path) -> tuple[Registry, ...]:
    """Read the list below :data:`NAME`, which may be left out."""
    sections = reader.sections(NAME)
    found = [_read(section, package) for section in sections]
    times = Counter(registry.server.lower() for registry in found if registry.server)
    addresses: dict[str, str] = {}
    for section, registry in zip(sections, found, strict=True):
        if times[registry.server.lower()] > 1:
            section.error("server", f"{registry.server} is listed more than once")
        entry = registry.host_entry
        if entry and addresses.setdefault(entry.name.lower(), entry.address) != entry.address:
            section.error("hosts_string", f"{entry.name} is given another address before")
    return tuple(found)


def _read(reader: Reader, package: Path) -> Registry:
    kind = _read_kind(reader)
    registry = Registry(
        server=_read_server(reader),
        plain_http=kind == _HTTP,
        login=_read_login(reader),
        certificate=_read_certificate(reader, package),
        host_entry=_read_host_entry(reader),
    )
    if kind == _HTTP and reader.has("certificate_path"):
        reader.error("certificate_path", "is for HTTPS; connection_type 0 is HTTP")
    reader.end()
    return registry


def _read_kind(reader: Reader) -> str:
    kind = reader.text("connection_type", digits=True)
    if kind and kind not in (_HTTP, _HTTPS):
        reader.error("connection_type", "must be 0 (HTTP) or 1 (HTTPS)")
    return kind


def _read_server(reader: Reader) -> str:
    server = reader.text("server")
    host, separator, port = server.partition(":")
    good = grammar.is_host(host) and (not separator or grammar.port(port))
    if server and not good:
        reader.error("server", "must be a host, or a host and a port: registry.example.com:5000")
        return ""
    if server and not set(server) & set(".:") and server != "localhost":
        reader.error("server", "must have a dot or a port, or runtimes take it for a repository")
    return server


def _read_login(reader: Reader) -> Login | None:
    if not reader.has("username") and not reader.has("password"):
        return None
    login = Login(reader.text("username"), reader.secret("password"))
    if ":" in login.username:
        reader.error("username", "must not hold a colon (RFC 7617)")
    return login


def _read_certificate(reader: Reader, package: Path) -> Path | None:
    path = reader.text_file("certificate_path", package)
    if path is None:
        return None
    content = path.read_bytes()
    try:
        found = len(x509.load_pem_x509_certificates(content))
    except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion):
        found = 0
    if not found or found != content.count(_BEGIN):  # one that is cut off is passed over
        text = "is not a certificate in PEM format, or several of which each is whole"
        reader.error("certificate_path", text)
    return path


def _read_host_entry(reader: Reader) -> HostEntry | None:
    text = reader.optional_text("hosts_string")
    if text is None:
        return None
    words = text.split()
    address = grammar.address(words[0]) if words else None
    if address and len(words) == 2 and grammar.is_name(words[1]):
        name = words[1].lower()
        if name in _OWN_NAMES or name.endswith(_OWN_DOMAINS):
            reader.error("hosts_string", f"{words[1]} is the machine itself")
        elif not grammar.is_one_machines(address):
            reader.error("hosts_string", f"{words[0]} is no address of another machine")
        return HostEntry(str(address), words[1])
    if text:
        reader.error(
            "hosts_string", "must be an address and a name: 192.168.0.20 registry.example.com"
        )
    return None
