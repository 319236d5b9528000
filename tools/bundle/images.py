"""Images for a registry: skopeo fetches them, and their files become those of its storage."""

import hashlib
import json
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mgmt_drivers.package import BROKEN_ARCHIVE, sha256_of
from tools.bundle.programs import BundleError, run
from tools.images.references import split

_HUB = "docker.io/"  # left out in the names of an engine's images
_STORAGE = "docker/registry/v2"  # of the registry's filesystem driver
_ADVICE = (
    "See that the registry answers (skopeo reads https_proxy, the mirrors of "
    "/etc/containers/registries.conf, and the logins of `skopeo login`), or name an archive that "
    "has the image by --archive. Then repeat the command, which goes on where it ended"
)

Files = dict[str, Path | bytes]


@dataclass(frozen=True)
class Image:
    """An image that skopeo has copied into a folder (its transport ``dir``)."""

    reference: str
    source: str
    folder: Path

    @property
    def digest(self) -> str:
        return f"sha256:{sha256_of(self.folder / 'manifest.json')}"

    @property
    def short(self) -> str:
        """The name with which clusters pull from an image_repository."""
        return self.reference.rpartition("/")[2]

    def blobs(self) -> list[str]:
        """The digests of configuration and layers, without their algorithm."""
        manifest = json.loads((self.folder / "manifest.json").read_text())
        found = [manifest["config"]["digest"], *(each["digest"] for each in manifest["layers"])]
        return [digest.removeprefix("sha256:") for digest in dict.fromkeys(found)]


def references_in(archives: Sequence[Path]) -> dict[str, Path]:
    """The archives of ``docker save`` that have images, by the images' references.

    :raises BundleError: a file is no such archive
    """
    found: dict[str, Path] = {}
    for path in archives:
        try:
            with tarfile.open(path) as archive:
                listed = archive.extractfile("manifest.json")
                images = json.load(listed) if listed else []
                tags = [tag for image in images for tag in image["RepoTags"] or ()]
        except BROKEN_ARCHIVE as error:
            raise BundleError(f"{path} is not a file made by `docker save`: {error}") from error
        found |= {tag.removeprefix(_HUB): path for tag in tags}
    return found


def fetch(
    reference: str, archives: Mapping[str, Path], architecture: str, folder: Path
) -> Image:
    """Copy an image from an archive that has it, or else from its registry, into a folder.

    :param folder: one image's, which is made in one piece; what is there already stays
    :raises BundleError: with skopeo's words
    """
    archive = archives.get(reference.removeprefix(_HUB))
    source, told = f"docker://{reference}", f"docker://{reference}"
    if archive:
        source = f"docker-archive:{archive}:{reference.removeprefix(_HUB)}"
        told = f"sha256:{sha256_of(archive)}"
    known = hashlib.sha256(f"{architecture} {told} {reference}".encode()).hexdigest()
    place, part = folder / known, folder / f"{known}.part"
    if not place.is_dir():
        shutil.rmtree(part, ignore_errors=True)
        part.parent.mkdir(parents=True, exist_ok=True)
        run(
            "skopeo", "copy", "--quiet", "--override-os", "linux", "--override-arch",
            architecture, "--dest-compress", source, f"dir:{part}", advice=_ADVICE,
        )  # fmt: skip
        part.rename(place)
    return Image(reference, told, place)


def check_names(references: Sequence[str]) -> None:
    """:raises BundleError: two images would have one name in an image_repository"""
    known: dict[str, str] = {}
    for reference in references:
        split(reference)  # refuses digests, and names without a tag
        other = known.setdefault(reference.rpartition("/")[2], reference)
        if other != reference:
            raise BundleError(f"the registry cannot have {reference} beside {other}: leave one out")


def storage(images: Sequence[Image], repository: str) -> Files:
    """The files of a registry's storage that has the images below a repository."""
    found: Files = {}
    for image in images:
        name, tag = split(image.short)
        own, manifest = f"{_STORAGE}/repositories/{repository}/{name}", image.digest
        link = manifest.encode()
        digest = manifest.removeprefix("sha256:")
        tagged = f"{own}/_manifests/tags/{tag}"
        found |= {
            f"{own}/_manifests/revisions/sha256/{digest}/link": link,
            f"{tagged}/current/link": link,
            f"{tagged}/index/sha256/{digest}/link": link,
            _blob(digest): image.folder / "manifest.json",
        }
        for blob in image.blobs():
            found[f"{own}/_layers/sha256/{blob}/link"] = f"sha256:{blob}".encode()
            found[_blob(blob)] = image.folder / blob
    return found


def _blob(digest: str) -> str:
    return f"{_STORAGE}/blobs/sha256/{digest[:2]}/{digest}/data"
