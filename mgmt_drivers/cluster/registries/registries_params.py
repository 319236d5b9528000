"""The parameter ``private_registry_connection_info``: registries that nodes pull from."""

import base64
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

from mgmt_drivers import grammar
from mgmt_drivers.params.declaration import Always, Beside, ObjectOf, inline, param
from mgmt_drivers.params.kinds import ListOf, PackageFile, SecretText, Text, TextKind
from mgmt_drivers.params.reader import Reader
from mgmt_drivers.secret import Secret

NAME = "private_registry_connection_info"
_HTTP, _HTTPS = "0", "1"
_BEGIN, _END = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
_BLOCK = re.compile(_BEGIN + rb"[A-Za-z0-9+/=\s]+" + _END)
# Docker Hub: its name in references of images, where its API is, and where Docker and kubelet look
# for its login.
_HUB, _HUB_API, _HUB_LOGIN = "docker.io", "registry-1.docker.io", "https://index.docker.io/v1/"
_HUB_NAMES = frozenset((_HUB, "index.docker.io", _HUB_API))
# kubelet's configuration of Docker's form: with its logins pods need no imagePullSecrets
# (Kubernetes' documentation, "Images").
LOGINS_FOLDER = "/var/lib/kubelet"
# Names that systems' own files of hosts give to the machine and its links.
_OWN_NAMES = frozenset((
    "localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback", "ip6-localnet",
    "ip6-mcastprefix", "ip6-allnodes", "ip6-allrouters", "ip6-allhosts",
))
_OWN_DOMAINS = (".localhost", ".localdomain", ".localdomain4", ".localdomain6")


class _ConnectionType(TextKind[bool]):
    """Whether a registry speaks plain HTTP."""

    words = "``0`` or ``1``, as a number or a string"
    fallback = False
    takes_digits = True

    def take(self, text: str, reader: Reader) -> bool:
        if text not in (_HTTP, _HTTPS):
            reader.refuse("must be 0 (HTTP) or 1 (HTTPS)")
        return text == _HTTP

    def schema(self) -> dict[str, Any]:
        return {"enum": [0, 1, _HTTP, _HTTPS]}


def server_name(text: str) -> str:
    """The one name of a registry in the names of images: Docker Hub has several."""
    return _HUB if text.lower() in _HUB_NAMES else text


class _Server(TextKind[str]):
    words = "host, or host and port"
    fallback = ""

    def take(self, text: str, reader: Reader) -> str:
        host, separator, port = text.partition(":")
        if not grammar.is_host(host) or (separator and not grammar.port(port)):
            reader.refuse("must be a host, or a host and a port: registry.example.com:5000")
            return ""
        if not set(text) & set(".:") and text != "localhost":
            reader.refuse("must have a dot or a port, or runtimes take it for a repository")
        return server_name(text)


class _UserName(Text):
    def take(self, text: str, reader: Reader) -> str:
        if ":" in text:
            reader.refuse("must not hold a colon (RFC 7617)")
        return text


class Certificates(TextKind[bytes | None]):
    """The certificates in a file, without the text around them, which not all programs bear."""

    words = PackageFile.words

    def take(self, text: str, reader: Reader) -> bytes | None:
        path = PackageFile().take(text, reader)
        if path is None:
            return None
        data = path.read_bytes()
        found = b"".join(block + b"\n" for block in _BLOCK.findall(data))
        try:
            number = len(x509.load_pem_x509_certificates(found))
        except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion):
            number = 0
        if not number or number != data.count(_BEGIN):  # one that is cut off is passed over
            reader.refuse("must hold one or more whole certificates in PEM format")
        return found


@dataclass(frozen=True)
class HostEntry:
    """A name that no name server knows, and its address."""

    address: str
    name: str

    def __str__(self) -> str:
        return f"{self.address} {self.name}"


class _HostEntry(TextKind[HostEntry | None]):
    words = "address and name"

    def take(self, text: str, reader: Reader) -> HostEntry | None:
        words = text.split()
        address = grammar.address(words[0]) if words else None
        if not address or len(words) != 2 or not grammar.is_name(words[1]):
            reader.refuse("must be an address and a name: 192.168.0.20 registry.example.com")
            return None
        name = words[1].lower()
        if name in _OWN_NAMES or name.endswith(_OWN_DOMAINS):
            reader.refuse(f"{words[1]} is the machine itself")
        elif not grammar.is_one_machines(address):
            reader.refuse(f"{words[0]} is not an address of another machine")
        return HostEntry(str(address), words[1])


@dataclass(frozen=True)
class Login:
    """A user of a registry; pods need no ``imagePullSecrets`` for its images."""

    username: str = param(
        "username", _UserName(), required=Beside("password"), value="", example="user01",
        meaning="user of the login; pods need no ``imagePullSecrets``",
    )
    password: Secret = param(
        "password", SecretText(), required=Beside("username"), value=SecretText.fallback,
        example="secret", meaning="password of the login",
    )

    @property
    def basic(self) -> Secret:
        """Name and password, as Docker's files and the Basic scheme of HTTP write them."""
        pair = f"{self.username}:{self.password.reveal()}"
        return Secret(base64.b64encode(pair.encode()).decode())


@dataclass(frozen=True)
class Registry:
    """A registry; ``server`` is its host, with a port unless the port is the scheme's default.

    ``certificate`` is the CA that signs the registry's certificate (PEM), besides the CAs that
    machines trust already. ``has_kubernetes`` tells that the registry has Kubernetes' images.
    """

    server: str = param(
        "server", _Server(), required=Always(), example="registry.example.com:5000",
        meaning="the registry, with a port unless the port is the scheme's default",
    )
    plain_http: bool = param(
        "connection_type", _ConnectionType(), required=Always(), value=False, example="1",
        meaning="0 for HTTP, 1 for HTTPS",
    )
    login: Login | None = inline(Login, is_optional=True)
    certificate: bytes | None = param(
        "certificate_path", Certificates(), example="Files/ca.crt",
        meaning="HTTPS only: the CA (PEM, perhaps several) that signs the registry's certificate",
        left_out="the CAs that machines trust already",
    )
    host_entry: HostEntry | None = param(
        "hosts_string", _HostEntry(), example="10.10.0.20 registry.example.com",
        meaning="for a name that DNS does not know; not one of the machine itself, such as "
        "``127.0.0.1`` and ``localhost``",
    )
    has_kubernetes: bool = False

    @property
    def scheme(self) -> str:
        return "http" if self.plain_http else "https"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{_HUB_API if self.is_hub else self.server}"

    @property
    def host(self) -> str:
        return self.url.partition("://")[2].partition(":")[0]

    @property
    def is_hub(self) -> bool:
        """Whether it is Docker Hub, which runtimes know."""
        return self.server == _HUB

    @property
    def shown_login(self) -> Login | None:
        """The login for the container runtime, which pulls Kubernetes' images without kubelet."""
        return self.login if self.has_kubernetes else None

    @property
    def login_key(self) -> str:
        """The key under which kubelet looks for the login."""
        return _HUB_LOGIN if self.is_hub else self.server


def _check(registry: Registry, reader: Reader) -> Registry:
    if registry.plain_http and reader.has("certificate_path"):
        reader.at("certificate_path").refuse("is for HTTPS; connection_type 0 is HTTP")
    if registry.plain_http and registry.is_hub:
        reader.at("connection_type").refuse("must be 1: Docker Hub speaks HTTPS")
    return registry


def _check_together(registries: Sequence[Registry], reader: Reader) -> None:
    times = Counter(registry.server.lower() for registry in registries if registry.server)
    addresses: dict[str, str] = {}
    for number, registry in enumerate(registries):
        place = reader.at(number)
        if times[registry.server.lower()] > 1:
            place.at("server").refuse(f"{registry.server} is listed more than once")
        entry = registry.host_entry
        if entry and addresses.setdefault(entry.name.lower(), entry.address) != entry.address:
            place.at("hosts_string").refuse(f"{entry.name} is given another address before")


REGISTRIES = ListOf(ObjectOf(Registry, _check), check=_check_together)
