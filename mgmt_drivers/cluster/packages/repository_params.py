"""The repositories of packages and images that a cluster is installed from."""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from mgmt_drivers import grammar
from mgmt_drivers.cluster.registries.registries_params import Certificates
from mgmt_drivers.params import registry_ports
from mgmt_drivers.params.declaration import Always, ObjectOf, When, param
from mgmt_drivers.params.kinds import OpenUrl, PackageFile, TextKind
from mgmt_drivers.params.reader import Reader

# In a URL, for the series of the cluster, and for a machine's system, such as debian-13.
SERIES, SYSTEM = "{series}", "{system}"
PUBLIC = f"https://pkgs.k8s.io/core:/stable:/v{SERIES}/deb/"  # the Kubernetes project's own
_ONE_SERIES = re.compile(r"(?<![0-9.])1[.][0-9]{2}(?![0-9.])")


class _RepositoryUrl(OpenUrl):
    def take(self, text: str, reader: Reader) -> str:
        url = super().take(text.replace(SERIES, "1.37").replace(SYSTEM, "x"), reader)
        if set("?#[]") & set(url.partition("//")[2].removeprefix(urlsplit(url).netloc)):
            # In sources.list(5) a comment would begin, or options.
            reader.refuse("must have nothing but a path behind its host, without ?, #, [ and ]")
        return (text if url else "").rstrip("/") + "/"


@dataclass(frozen=True)
class PackageRepository:
    """An apt repository laid out flat, as the Kubernetes project's own are."""

    url: str = param(
        "url", _RepositoryUrl(), required=Always(),
        example=PUBLIC,
        meaning="the repository's folder; ``{series}`` stands for the series, such as ``1.37``, "
        "and ``{system}`` for the machine's system, such as ``debian-13``",
    )
    key: Path | None = param(
        "key_path", PackageFile(), required=When("if ``url`` has http"),
        example="Files/kubernetes/key.asc",
        meaning="the ASCII-armored key that signs the repository",
        left_out="the key is fetched from a repository with https",
    )

    @property
    def has_one_series(self) -> bool:
        return bool(_ONE_SERIES.search(self.url))

    def read_key(self) -> bytes | None:
        """Read the key, without what editors of Windows add: apt finds no key in such a file."""
        if self.key is None:
            return None
        return self.key.read_bytes().removeprefix(codecs.BOM_UTF8).replace(b"\r\n", b"\n")


def _check_key(repository: PackageRepository, reader: Reader) -> PackageRepository:
    if urlsplit(repository.url).scheme == "http" and not reader.has("key_path"):
        reader.at("key_path").refuse(
            "missing: over http, no key can be fetched that is to be trusted"
        )
    return repository


PACKAGE_REPOSITORY = ObjectOf(PackageRepository, _check_key)


@dataclass(frozen=True)
class ImageRepository:
    """The repository of Kubernetes' images, such as ``registry.example.com:5000/k8s``.

    ``certificate`` is as in a :class:`Registry`.
    """

    reference: str
    plain_http: bool = False
    certificate: bytes | None = None

    @property
    def server(self) -> str:
        return self.reference.partition("/")[0]

    def own_name(self, image: str) -> str:
        """The reference under which the repository has an image."""
        return f"{self.reference}/{image.rpartition('/')[2]}"


class ImageRepositoryKind(TextKind[ImageRepository]):
    words = "repository of images"
    fallback = ImageRepository("")

    def take(self, text: str, reader: Reader) -> ImageRepository:
        scheme, separator, rest = text.rpartition("://")
        reference = rest.rstrip("/")
        is_known = not separator or scheme in ("http", "https")
        if not is_known or not grammar.is_repository(reference):
            reader.refuse(
                "must be like registry.example.com:5000/kubernetes, with http:// before it when "
                "the registry speaks plain HTTP"
            )
        return ImageRepository(reference, plain_http=scheme == "http")


OFFLINE = "offline_registry"
# In the VNF package. The first is a bundle's key.asc.
KEY_FILE, CA_FILE = "Files/offline/key.asc", "Files/offline/ca.crt"


@dataclass(frozen=True)
class OfflineRegistry:
    """A private registry VNF with bundles; ``ca`` signs its certificate, ``key`` the packages."""

    host: str
    port: int
    key: Path
    ca: bytes

    @property
    def images(self) -> ImageRepository:
        return ImageRepository(f"{self.host}:{self.port}/kubernetes", certificate=self.ca)

    def packages(self, version: str) -> PackageRepository:
        """The packages of a release, or of the newest release of a series."""
        server = f"{self.host}:{registry_ports.of_packages(self.port)}"
        return PackageRepository(f"https://{server}/{version}/{SYSTEM}/", self.key)


class OfflineRegistryKind(TextKind[OfflineRegistry | None]):
    words = "host, or host and port"

    def take(self, text: str, reader: Reader) -> OfflineRegistry | None:
        host, separator, digits = text.partition(":")
        port = grammar.port(digits) if separator else registry_ports.DEFAULT_PORT
        next_port = port and grammar.port(str(registry_ports.of_packages(port)))
        if not (grammar.is_host(host) and port and next_port):
            reader.refuse("must be the registry's address, perhaps with its port: 10.10.0.251:5000")
            return None
        key, ca = PackageFile().take(KEY_FILE, reader), Certificates().take(CA_FILE, reader)
        return OfflineRegistry(host, port, key, ca) if key and ca else None
