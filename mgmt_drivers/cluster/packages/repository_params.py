"""The repositories of packages and images that a cluster is installed from."""

import codecs
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from mgmt_drivers import grammar
from mgmt_drivers.params.declaration import Always, ObjectOf, When, param
from mgmt_drivers.params.kinds import OpenUrl, PackageFile, TextKind
from mgmt_drivers.params.reader import Reader

SERIES = "{series}"  # in a URL, for the series of the cluster
_ONE_SERIES = re.compile(r"(?<![0-9.])1[.][0-9]{2}(?![0-9.])")


class _RepositoryUrl(OpenUrl):
    def take(self, text: str, reader: Reader) -> str:
        url = super().take(text.replace(SERIES, "1.37"), reader)
        if set("?#[]") & set(url.partition("//")[2].removeprefix(urlsplit(url).netloc)):
            # In sources.list(5) a comment would begin, or options.
            reader.refuse("must have nothing but a path behind its host, without ?, #, [ and ]")
        return (text if url else "").rstrip("/") + "/"


@dataclass(frozen=True)
class PackageRepository:
    """An apt repository laid out flat, as the Kubernetes project's own are.

    ``key`` is the ASCII-armored key that signs it; without one, it is fetched
    from the repository over https.
    """

    url: str = param(
        "url", _RepositoryUrl(), required=Always(),
        example="https://pkgs.k8s.io/core:/stable:/v{series}/deb/",
        meaning="the repository's folder; ``{series}`` stands for the series, such as ``1.37``",
    )
    key: Path | None = param(
        "key_path", PackageFile(), required=When("if ``url`` has http"),
        example="Files/kubernetes/key.asc",
        meaning="the ASCII-armored key that signs the repository",
        left_out="the key is fetched from a repository with https",
    )

    @property
    def has_one_series(self) -> bool:
        """Whether the URL names a series."""
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
    """The repository of Kubernetes' images, such as ``registry.example.com:5000/k8s``."""

    reference: str
    plain_http: bool = False

    @property
    def server(self) -> str:
        """Host and port."""
        return self.reference.partition("/")[0]


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
