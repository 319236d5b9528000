"""The parameter ``private_registry_installation_param``."""

import hashlib
import itertools
import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from mgmt_drivers import grammar
from mgmt_drivers.package_archive import BROKEN
from mgmt_drivers.params.login import read_host_keys
from mgmt_drivers.params.proxy import Proxy, read_proxy
from mgmt_drivers.params.reader import Reader, read_object
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.hostkeys import KnownKey

NAME = "private_registry_installation_param"
DEFAULT_PORT = 5000
_LARGEST_MANIFEST = 1 << 20  # bytes
_LARGEST_IMAGE = 4 << 30  # bytes; a registry's has some hundred million
# Of the members of an image archive: each image of a registry has some dozens of them.
_MOST_MEMBERS = 10_000
_OWN_NAME = "private-registry"  # of an image that was given, on the machine
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")

# The registry checks passwords by bcrypt only, of a cost from 4 to 31 (Go's package bcrypt).
_HTPASSWD_LINE = re.compile(
    r"[^:\s]+:\$2[abxy]?\$(?:0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}"
)


@dataclass(frozen=True)
class ImageArchive:
    """A file made by ``docker save``: the one image in it, as it names it."""

    path: Path
    reference: str
    sha256: str

    @property
    def tag(self) -> str:
        """Its name on the machine, which tells its content."""
        return f"{_OWN_NAME}:{self.sha256[:12]}"


@dataclass(frozen=True)
class RemoteImage:
    """A file made by ``docker save`` that the machine fetches itself."""

    url: str
    sha256: str | None = None

    @property
    def tag(self) -> str:
        known = self.sha256 or hashlib.sha256(self.url.encode()).hexdigest()
        return f"{_OWN_NAME}:{known[:12]}"


@dataclass(frozen=True)
class Tls:
    """Certificate (with its chain) and private key, PEM files of the package."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class PrivateRegistryParams:
    """What the private registry is to be. Without ``image`` it is pulled."""

    ssh_cp_name: str
    ssh_username: str
    ssh_password: Secret
    port: int = DEFAULT_PORT
    image: ImageArchive | RemoteImage | None = None
    proxy: Proxy | None = None
    tls: Tls | None = None
    htpasswd: Path | None = None
    host_keys: tuple[KnownKey, ...] = ()

    def secrets(self) -> Iterator[Secret]:
        """Every secret in here, for masking what machines print."""
        yield self.ssh_password
        if self.proxy:
            yield from self.proxy.secrets()
        if self.tls:
            yield Secret(self.tls.key.read_bytes().decode())
        if self.htpasswd:
            lines = self.htpasswd.read_bytes().decode().splitlines()
            yield from (Secret(line.rpartition(":")[2]) for line in lines)


def read_params(request: LcmRequest) -> PrivateRegistryParams:
    """Read and check the parameters against the VNFD and the package's files.

    :raises ParameterError: with every error, each with its path
    """
    return read_object(request.additional_params, NAME, lambda reader: read(reader, request))


def read(reader: Reader, request: LcmRequest) -> PrivateRegistryParams:
    """Read everything; errors are noted in the reader."""
    params = PrivateRegistryParams(
        ssh_cp_name=reader.one_of("ssh_cp_name", request.cps, "CP"),
        ssh_username=reader.text("ssh_username"),
        ssh_password=reader.secret("ssh_password"),
        port=reader.port("port_no", DEFAULT_PORT),
        image=_read_remote_image(reader) or _read_image(reader, request.package),
        proxy=read_proxy(reader.section("proxy")),
        tls=_read_tls(reader, request.package),
        htpasswd=_read_htpasswd(reader, request.package),
        host_keys=read_host_keys(reader),
    )
    reader.end()
    return params


def _read_remote_image(reader: Reader) -> RemoteImage | None:
    url = reader.url("image_url")
    sha256 = reader.optional_text("image_sha256")
    if sha256 is not None and not _SHA256.fullmatch(sha256):
        reader.error("image_sha256", "must be 64 hexadecimal digits")
    if sha256 is not None and url is None:
        reader.error("image_sha256", "is for image_url, which is missing")
    if url is None:
        return None
    if "@" in url.reveal():
        reader.error("image_url", "must not carry a user name or password")
    if reader.has("image_path"):
        reader.error("image_url", "stands beside image_path: give one of them")
    return RemoteImage(url.reveal(), sha256.lower() if sha256 else None)


def _read_image(reader: Reader, package: Path) -> ImageArchive | None:
    path = reader.file("image_path", package)
    if path is None:
        return None
    try:
        images: list[dict[str, Any]] = json.loads(_manifest(path))
        references = [tag for image in images for tag in _tags(image)]
    except BROKEN:
        reader.error("image_path", "is not a file made by `docker save`")
        return None
    if len(images) != 1 or not references:
        reader.error("image_path", "must hold one image with a name, as `docker save NAME` does")
        return None
    if not all(isinstance(name, str) and grammar.is_image(name) for name in references):
        reader.error("image_path", "has an image whose name (RepoTags) is none of an image")
        return None
    return ImageArchive(path, references[0], _sha256(path))


def _tags(image: dict[str, Any]) -> list[Any]:
    """:raises TypeError: when they are no list; docker writes null where there are none"""
    tags = image["RepoTags"]
    if tags is not None and not isinstance(tags, list):
        raise TypeError("RepoTags")
    return tags or []


def _manifest(path: Path) -> bytes:
    """The manifest of an archive, which is read to its end: one that is cut off is refused."""
    manifest, size = b"[]", 0
    with tarfile.open(path) as archive:
        for found in itertools.islice(archive, _MOST_MEMBERS):
            size += found.size
            if size > _LARGEST_IMAGE:
                raise ValueError(f"more than {_LARGEST_IMAGE} bytes")
            file = archive.extractfile(found) if found.name == "manifest.json" else None
            manifest = file.read(_LARGEST_MANIFEST) if file else manifest
    return manifest


def _sha256(path: Path) -> str:
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            sha.update(chunk)
    return sha.hexdigest()


def _read_tls(reader: Reader, package: Path) -> Tls | None:
    certificate = reader.text_file("tls_certificate_path", package)
    key = reader.text_file("tls_key_path", package)
    for given, missing in (
        ("tls_certificate_path", "tls_key_path"),
        ("tls_key_path", "tls_certificate_path"),
    ):
        if reader.has(given) and not reader.has(missing):
            reader.error(missing, f"missing beside {given}")
    if not certificate or not key:
        return None
    try:
        public = x509.load_pem_x509_certificates(certificate.read_bytes())[0].public_key()
    except (ValueError, IndexError, UnsupportedAlgorithm, x509.InvalidVersion):
        reader.error("tls_certificate_path", "is not a PEM certificate")
        return None
    try:
        private = serialization.load_pem_private_key(key.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        reader.error("tls_key_path", "is not a PEM private key without a passphrase")
        return None
    if private.public_key() != public:
        reader.error("tls_key_path", "is not the key of tls_certificate_path")
    return Tls(certificate, key)


def _read_htpasswd(reader: Reader, package: Path) -> Path | None:
    path = reader.text_file("htpasswd_path", package)
    if path is None:
        return None
    lines = path.read_bytes().decode().split("\n")
    for number, line in enumerate(lines, start=1):
        is_good = bool(_HTPASSWD_LINE.fullmatch(line)) and line.isprintable()
        if line and not line.startswith("#") and not is_good:
            reader.error(
                "htpasswd_path", f"line {number} is not of the form that `htpasswd -B` writes"
            )
    return path
