"""The bundle: packages for each system, images, their lists, and the repository's public key.

A tar, in the order of its names, without times and owners, so that the same input gives the same
bytes. It has

``manifest.json``
    the release, and each package and image with its digest and source
``bom.cdx.json``
    the same as a bill of materials
``packages/RELEASE/SYSTEM/``
    a flat, signed repository of packages for each system
``images/``
    the storage of a registry
"""

import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mgmt_drivers.cluster.series import read_version
from tools.bundle import images, repository, systems
from tools.bundle.apt import Apt, Deb
from tools.bundle.images import Files, Image
from tools.bundle.programs import BundleError, run
from tools.bundle.repository import Key
from tools.csar import sbom
from tools.images.references import of_package, of_release
from tools.progress import Progress

FORMAT = 1
REPOSITORY = "kubernetes"  # of the images, in the registry
KUBERNETES_KEY = "kubernetes.asc"


@dataclass(frozen=True)
class Wanted:
    """What goes into a bundle.

    :param version: of Kubernetes, a series or a release
    :param sources: files of apt's sources by their names, for each system
    :param also: names of packages beside those that the drivers know
    :param package: folder of a VNF package, whose pod network and ``addons`` name images
    :param archives: of ``docker save``, which stand in for registries
    """

    version: str
    runtime: str
    architecture: str
    sources: Mapping[str, Mapping[str, str]]
    also: Sequence[str]
    package: Path
    addons: Sequence[str]
    images: Sequence[str]
    archives: Sequence[Path]
    key: Key


def make(wanted: Wanted, output: Path, work: Path, progress: Progress) -> None:
    """Write the bundle, which appears complete or not at all.

    :param work: a folder for what is fetched, from which a later attempt goes on
    :raises BundleError: and ``ImageError``, which say what to do
    """
    others = [*of_package(wanted.package, wanted.version, wanted.addons), *wanted.images]
    images.check_names(others)
    archives = images.references_in(wanted.archives)
    debs = {
        system: _fetch_packages(system, wanted, work / "packages", progress)
        for system in wanted.sources
    }
    release, kubeadm = _kubeadm(next(iter(debs.values())))
    listed = _images_of(release, kubeadm, wanted.architecture, work, progress)
    references = [*dict.fromkeys([*listed, *others])]
    images.check_names(references)
    fetched = []
    for number, reference in enumerate(references, start=1):
        with progress.step(f"fetch image {number} of {len(references)}: {reference}"):
            folder = work / "images"
            fetched.append(images.fetch(reference, archives, wanted.architecture, folder))
    with progress.step("sign the repositories of packages, and list what is in the bundle"):
        files = _files(wanted, release, debs, fetched)
    with progress.step(f"write {output}"):
        _write(files, output)


def _fetch_packages(
    system: str, wanted: Wanted, work: Path, progress: Progress
) -> Sequence[Deb]:
    apt = Apt(work / system, wanted.architecture, wanted.sources[system])
    with progress.step(f"ask the sources of {system}"):
        apt.update()
        names = [*systems.packages(system, wanted.runtime), *wanted.also]
        versions = apt.versions(names)
    release = _newest(versions.get("kubeadm", []), wanted.version, system)
    missing = sorted({*names} - {*versions})
    if unknown := [name for name in missing if name not in sbom.ON_REQUEST]:
        raise BundleError(
            f"no source of {system} has {', '.join(unknown)}: name a source that has, by "
            f"--sources {system}=FILE"
        )
    if missing:
        progress.say(f"left out: {', '.join(missing)}, which no source of {system} has")
    words = [
        f"{name}={release}" if name in systems.VERSIONED else name
        for name in names
        if name in versions
    ]
    with progress.step(f"fetch the packages of {system}"):
        return apt.fetch(words)


def _newest(versions: Sequence[str], wanted: str, system: str) -> str:
    """The newest package of a series or a release."""
    prefixes = (f"{wanted}-", f"{wanted}.", f"{wanted}+")
    for version in versions:
        if version == wanted or version.startswith(prefixes):
            return version
    has = ", ".join(versions) or "none"
    raise BundleError(f"the sources of {system} have no kubeadm {wanted}; they have: {has}")


def _kubeadm(debs: Sequence[Deb]) -> tuple[str, Path]:
    """The release of Kubernetes, such as 1.37.2, and kubeadm's package."""
    (deb,) = (deb for deb in debs if deb.field("Package") == "kubeadm")
    text = deb.field("Version")
    version = read_version(text.partition("-")[0].partition("+")[0])
    if version is None:
        raise BundleError(f"{deb.url} has the version {text}, which is none of Kubernetes")
    return str(version), deb.path


def _images_of(
    release: str, kubeadm: Path, architecture: str, work: Path, progress: Progress
) -> list[str]:
    """The images of Kubernetes, which kubeadm of any architecture lists."""
    with progress.step(f"list the images of Kubernetes {release}"):
        if architecture != run("dpkg", "--print-architecture").strip():
            return of_release(release)
        run("dpkg-deb", "--extract", str(kubeadm), str(work / "kubeadm"))
        return of_release(release, work / "kubeadm/usr/bin/kubeadm")


def _files(
    wanted: Wanted, release: str, debs: Mapping[str, Sequence[Deb]], fetched: Sequence[Image]
) -> Files:
    """The files of the bundle, by their names."""
    found = images.storage(fetched, REPOSITORY)
    files: Files = {f"images/{name}": content for name, content in found.items()}
    for system, packages in debs.items():
        folder, index = f"packages/{release}/{system}", repository.index(packages)
        label = f"Kubernetes {release} for {system}"
        files |= {f"{folder}/{deb.file}": deb.path for deb in packages}
        files[f"{folder}/Packages"] = index
        signed = repository.release(index, label, wanted.architecture, wanted.key)
        files[f"{folder}/InRelease"] = signed
    listed = [_package(deb, system) for system, found in debs.items() for deb in found]
    manifest = {
        "format": FORMAT,
        "kubernetes": release,
        "container_runtime": wanted.runtime,
        "architecture": wanted.architecture,
        "systems": sorted(debs),
        "packages": sorted(listed, key=lambda each: (each["system"], each["name"])),
        "images": sorted(map(_image, fetched), key=lambda each: each["reference"]),
    }
    files["manifest.json"] = (json.dumps(manifest, indent=1) + "\n").encode()
    files[sbom.FILE] = _bill(manifest)
    files["key.asc"] = wanted.key.export()
    return files


def _package(deb: Deb, system: str) -> dict[str, str]:
    return {
        **{"system": system, "name": deb.field("Package"), "version": deb.field("Version")},
        **{"architecture": deb.field("Architecture"), "file": deb.file},
        **{"sha256": deb.sha256, "source": deb.url},
    }


def _image(image: Image) -> dict[str, str]:
    name = f"{REPOSITORY}/{image.short}"
    return {
        **{"reference": image.reference, "name": name},
        **{"digest": image.digest, "source": image.source},
    }


def _bill(manifest: Mapping[str, Any]) -> bytes:
    """The bill of materials in CycloneDX, with the licences that the project knows."""
    release = manifest["kubernetes"]
    whole = sbom.component("application", "bundle", "Kubernetes bundle", version=release)
    packages = [
        sbom.component(
            "application", f"package:{each['system']}:{each['name']}", each["name"],
            sbom.LICENCES.get(each["name"], ""), each["version"],
            hashes=[sbom.digest_of(each["sha256"])], purl=_purl(each),
        )
        for each in manifest["packages"]
    ]  # fmt: skip
    of_images = [
        sbom.image(
            each["reference"], hashes=[sbom.digest_of(each["digest"].removeprefix("sha256:"))]
        )
        for each in manifest["images"]
    ]
    return sbom.document(whole, [*packages, *of_images])


def _purl(package: Mapping[str, str]) -> str:
    maker, version = package["system"].partition("-")[0], quote(package["version"], safe="")
    qualifiers = f"arch={package['architecture']}&distro={package['system']}"
    return f"pkg:deb/{maker}/{quote(package['name'])}@{version}?{qualifiers}"


def _write(files: Files, output: Path) -> None:
    part = output.with_name(f".{output.name}.part")
    try:
        with tarfile.open(part, "w", format=tarfile.GNU_FORMAT) as archive:
            for name, content in sorted(files.items()):
                member = tarfile.TarInfo(name)  # mode 0644, and nobody's at no time
                if isinstance(content, bytes):
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
                    continue
                with content.open("rb") as file:
                    member.size = content.stat().st_size
                    archive.addfile(member, file)
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
