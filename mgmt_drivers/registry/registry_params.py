"""The parameter ``private_registry_installation_param``."""

import functools
import hashlib
import json
import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from mgmt_drivers import grammar
from mgmt_drivers.package import BROKEN_ARCHIVE, ArchiveMember, sha256_of
from mgmt_drivers.params import kinds, registry_ports
from mgmt_drivers.params.declaration import (
    Always,
    Beside,
    ObjectOf,
    Unless,
    inline,
    param,
    read_object,
)
from mgmt_drivers.params.login import host_keys_param
from mgmt_drivers.params.proxy import PROXY, Proxy
from mgmt_drivers.params.reader import Context, Reader, object_of
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.hostkeys import KnownKey

NAME = "private_registry_installation_param"
MODIFICATION = "private_registry_modification_param"
BUNDLES = "bundles"
_OWN_NAME = "private-registry"  # name on the machine of an image from the request
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")

# The registry accepts bcrypt only, with a cost from 4 to 31 (Go's package bcrypt).
_HTPASSWD_LINE = re.compile(
    r"[^:\s]+:\$2[abxy]?\$(?:0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}"
)


@dataclass(frozen=True)
class ImageArchive:
    """A file made by ``docker save`` with one image; ``reference`` is the image's name in it."""

    path: Path
    reference: str
    sha256: str

    @property
    def tag(self) -> str:
        """The image's name on the machine, made from the digest of its content."""
        return f"{_OWN_NAME}:{self.sha256[:12]}"


@dataclass(frozen=True)
class RemoteImage:
    """A file made by ``docker save`` that the machine downloads itself."""

    url: str
    sha256: str | None = None

    @property
    def tag(self) -> str:
        known = self.sha256 or hashlib.sha256(self.url.encode()).hexdigest()
        return f"{_OWN_NAME}:{known[:12]}"


class _ImageArchive(kinds.TextKind[ImageArchive | None]):
    words = kinds.PackageFile.words

    def take(self, text: str, reader: Reader) -> ImageArchive | None:
        path = kinds.PackageFile(kinds.LARGEST_ARCHIVE).take(text, reader)
        if path is None:
            return None
        try:
            images: list[dict[str, Any]] = json.loads(_manifest(path))
            references = [tag for image in images for tag in image["RepoTags"] or ()]
        except BROKEN_ARCHIVE:
            reader.refuse("is not a file made by `docker save`")
            return None
        if len(images) != 1 or not references:
            reader.refuse("must hold one image with a name, as `docker save NAME` does")
        elif not all(map(grammar.is_image, references)):
            reader.refuse("has an image whose name (RepoTags) is not a valid name of an image")
        else:
            return ImageArchive(path, references[0], sha256_of(path))
        return None


class _Sha256(kinds.TextKind[str]):
    words = "64 hexadecimal digits"
    fallback = ""
    pattern = "^[0-9a-fA-F]{64}$"

    def take(self, text: str, reader: Reader) -> str:
        if not _SHA256.fullmatch(text):
            reader.refuse("must be 64 hexadecimal digits")
        return text.lower()


class _Certificate(kinds.PackageFile):
    def check(self, path: Path, reader: Reader) -> None:
        if _certified_key(path) is None:
            reader.refuse("is not a PEM certificate")


class _PrivateKey(kinds.PackageFile):
    def check(self, path: Path, reader: Reader) -> None:
        if _own_key(path) is None:
            reader.refuse("is not a PEM private key without a passphrase")


def read_pem(path: Path) -> Secret:
    """Read a PEM file. What is not ASCII is text around the blocks, or an editor's mark."""
    return Secret(path.read_bytes().decode("ascii", errors="ignore"))


class _Htpasswd(kinds.TextFile):
    def check_text(self, content: str, reader: Reader) -> None:
        for number, line in enumerate(content.split("\n"), start=1):
            is_good = bool(_HTPASSWD_LINE.fullmatch(line)) and line.isprintable()
            if line and not line.startswith("#") and not is_good:
                reader.refuse(f"line {number} is not of the form that `htpasswd -B` writes")


@dataclass(frozen=True)
class Tls:
    """Certificate (with its chain) and private key, PEM files of the package."""

    certificate: Path = param(
        "tls_certificate_path", _Certificate(), required=Beside("tls_key_path"),
        example="Files/tls.crt", meaning="PEM certificate; the registry then speaks HTTPS",
    )
    key: Path = param(
        "tls_key_path", _PrivateKey(), required=Beside("tls_certificate_path"),
        example="Files/tls.key", meaning="the certificate's private key, without a passphrase",
    )


@dataclass(frozen=True)
class Bundle:
    """A file of ``k8s-vnf bundle``: of the package, or one that the machine downloads."""

    path: Path | None = param(
        "path", kinds.PackageFile(kinds.LARGEST_ARCHIVE), required=Unless("url"),
        example="Files/bundles/1.37.2.tar", meaning="a bundle in the VNF package",
    )
    url: str = param(
        "url", kinds.OpenUrl(), value="", example="http://files.example.com/1.37.2.tar",
        meaning="in place of ``path``: URL from which the machine fetches the bundle",
    )
    sha256: str = param(
        "sha256", _Sha256(), required=Beside("url"), value="", example="0a" * 32,
        meaning="digest of the bundle at ``url``",
    )

    @property
    def name(self) -> str:
        return self.path.name if self.path else self.url

    @functools.cached_property
    def digest(self) -> str:
        return sha256_of(self.path) if self.path else self.sha256


def _check_bundle(bundle: Bundle, reader: Reader) -> Bundle:
    for key in ("url", "sha256"):
        if reader.has("path") and reader.has(key):
            reader.at(key).refuse("cannot be combined with path")
    return bundle


BUNDLE_LIST = kinds.ListOf(ObjectOf(Bundle, _check_bundle))


@dataclass(frozen=True)
class RegistryModification:
    """The changes that a modification may make to a registry."""

    bundles: tuple[Bundle, ...] = param(
        BUNDLES, BUNDLE_LIST, required=Always(),
        meaning="bundles that the registry gets beside those that it has (:doc:`offline`)",
    )


@dataclass(frozen=True)
class PrivateRegistryParams:
    """The parameters of a private registry.

    ``image`` is made from ``archive``, ``image_url`` and ``image_sha256``; without ``image`` the
    machine pulls a public image.
    """

    ssh_cp_name: str = param(
        "ssh_cp_name", kinds.Reference("CP"), required=Always(), example="CP1",
        meaning="CP whose address is used for SSH",
    )
    ssh_username: str = param(
        "ssh_username", kinds.Text(), required=Always(), example="ubuntu",
        meaning="SSH user, who may use sudo, with or without the password",
    )
    ssh_password: Secret = param(
        "ssh_password", kinds.SecretText(), required=Always(), example="ubuntu",
        meaning="the user's password",
    )
    host_keys: tuple[KnownKey, ...] = host_keys_param()
    port: int = param(
        "port_no", kinds.Port(), default=registry_ports.DEFAULT_PORT, example=5001,
        meaning="port of the registry; packages of bundles are at the next port",
    )
    archive: ImageArchive | None = param(
        "image_path", _ImageArchive(), example="Files/images/private_registry.tar",
        meaning="archive of ``docker save``",
        left_out="``image_url``, or else the machine pulls ``registry:2``",
    )
    image_url: str | None = param(
        "image_url", kinds.OpenUrl(), example="https://files.example.com/registry.tar",
        meaning="in place of ``image_path``: URL from which the machine fetches the archive",
    )
    image_sha256: str | None = param(
        "image_sha256", _Sha256(), example="0a" * 32,
        meaning="digest of the archive at ``image_url``; required if the URL is ``http``",
    )
    proxy: Proxy | None = param(
        "proxy", PROXY,
        meaning="proxy for apt and Docker; empty strings count as left out, and without both URLs "
        "there is no proxy",
    )
    tls: Tls | None = inline(Tls, is_optional=True)
    htpasswd: Path | None = param(
        "htpasswd_path", _Htpasswd(), example="Files/htpasswd",
        meaning="file of ``htpasswd -B``; pushing and pulling then need a login",
    )
    push_port: int | None = param(
        "push_port_no", kinds.Port(), example=5010,
        meaning="port for pushes on the machine's loopback address, which an SSH tunnel reaches; "
        "``port_no`` is for pulls only then",
        left_out="everybody who may pull may push",
    )
    bundles: tuple[Bundle, ...] = param(
        BUNDLES, BUNDLE_LIST,
        meaning="bundles of Kubernetes for clusters without internet (:doc:`offline`); needs the "
        "certificate, and ``port_no`` is for pulls only then",
        left_out="the registry has the images that users push",
    )
    image: ImageArchive | RemoteImage | None = None

    @property
    def packages_port(self) -> int:
        return registry_ports.of_packages(self.port)

    def secrets(self) -> Iterator[Secret]:
        """Every secret of the parameters, for masking the output of machines."""
        yield self.ssh_password
        if self.proxy:
            yield from self.proxy.secrets()
        if self.tls:
            yield read_pem(self.tls.key)
        if self.htpasswd:
            lines = self.htpasswd.read_bytes().decode().splitlines()
            yield from (Secret(line.rpartition(":")[2]) for line in lines)


def read_params(request: LcmRequest) -> PrivateRegistryParams:
    """Read and check the parameters; raises ParameterError with every error and its path."""
    context = Context(request.package, {"CP": request.cps})
    return read_object(_KIND, request.additional_params, NAME, context)


def read_modification(given: Any, request: LcmRequest) -> list[Any]:
    """Read and check a modification; returns the bundles that it names, as requests have them.

    :param given: an object, or its text in JSON: Tacker's v1 API keeps nothing but text
    :raises ParameterError: with every error
    """
    values = object_of(given, MODIFICATION)
    read_object(_MODIFICATION, {MODIFICATION: values}, MODIFICATION, Context(request.package))
    return list(values[BUNDLES])


def _checked(params: PrivateRegistryParams, reader: Reader) -> PrivateRegistryParams:
    url, sha256 = params.image_url, params.image_sha256
    if sha256 is not None and url is None:
        reader.at("image_sha256").refuse("is for image_url, which is missing")
    if url and sha256 is None and not url.lower().startswith("https:"):
        reader.at("image_sha256").refuse(
            "missing: image_url is http, so that anybody on the way could replace the image"
        )
    if url is not None and reader.has("image_path"):
        reader.at("image_url").refuse("cannot be combined with image_path: give one of them")
    if params.push_port == params.port:
        reader.at("push_port_no").refuse("must be another port than port_no")
    if params.bundles:
        _check_bundles(params, reader)
    _check_pair(params.tls, reader.at("tls_key_path"))
    return replace(params, image=RemoteImage(url, sha256) if url else params.archive)


def _check_bundles(params: PrivateRegistryParams, reader: Reader) -> None:
    if params.tls is None:
        reader.at(BUNDLES).refuse("needs tls_certificate_path and tls_key_path: clusters use HTTPS")
    if params.htpasswd:
        reader.at("htpasswd_path").refuse("cannot be combined with bundles, which are for all")
    if params.push_port == params.packages_port:
        reader.at("push_port_no").refuse("must be another port than that of packages")
    if not grammar.port(str(params.packages_port)):
        reader.at("port_no").refuse("must leave a port behind it, for packages")


_KIND = ObjectOf(PrivateRegistryParams, _checked)
_MODIFICATION = ObjectOf(RegistryModification)


def _check_pair(tls: Tls | None, reader: Reader) -> None:
    if tls and tls.certificate and tls.key:
        public, private = _certified_key(tls.certificate), _own_key(tls.key)
        if public and private and private.public_key() != public:
            reader.refuse("is not the key of tls_certificate_path")


def _certified_key(path: Path) -> Any:
    """The public key of a file's first certificate; None if there is none."""
    try:
        return x509.load_pem_x509_certificates(path.read_bytes())[0].public_key()
    except (ValueError, IndexError, UnsupportedAlgorithm, x509.InvalidVersion):
        return None


def _own_key(path: Path) -> Any:
    """The private key of a file; None if there is none, or it has a passphrase."""
    try:
        return serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None


def _manifest(path: Path) -> bytes:
    """The manifest of an archive, which is read to its end so that a cut-off archive is refused."""
    manifest = b"[]"
    with tarfile.open(path, tarinfo=ArchiveMember) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name == "manifest.json" else None
            manifest = file.read() if file else manifest
    return manifest
