"""Images that a cluster's machines pull: of Kubernetes, of its pod network, and of add-ons."""

import hashlib
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from mgmt_drivers.cluster.addons import manifests
from mgmt_drivers.cluster.cluster_params import DEFAULT_CNI_MANIFEST
from mgmt_drivers.cluster.series import read_version
from mgmt_drivers.package_yaml import BadYaml

_POLICIES = "Files/kubernetes/addons/network-policies.yaml"  # which the sample requests list
_RELEASES = "https://dl.k8s.io"
_PATIENCE = 60.0  # seconds without a byte
# The registry of the Kubernetes project, and its earlier name.
_PUBLISHED = re.compile(r"(registry\.k8s\.io|k8s\.gcr\.io)/(coredns/)?[\w.-]+", re.ASCII)
_DOCKER_HUB = "docker.io/"  # left out in the names of an engine's images
_TAGGED = re.compile(r"(?P<repository>[^@]+):(?P<tag>[\w.-]+)", re.ASCII)
_CHART = ".tgz"


class ImageError(Exception):
    """An expected error; its text says what to do."""


def of_release(version: str, kubeadm: Path | None = None, sha256: str = "") -> list[str]:
    """The images that kubeadm of a release, or of a series' newest one, asks for.

    Only kubeadm itself knows them.

    :param version: of a supported series
    :param kubeadm: the program, where it is at hand; otherwise it is fetched from the Kubernetes
        project
    :param sha256: digest of the program; otherwise the server's certificate is trusted
    """
    wanted = read_version(version)
    assert wanted, version
    release = "" if wanted.patch is None else f"v{wanted}"
    if kubeadm:
        _check_digest(str(kubeadm), kubeadm.read_bytes(), sha256)
        return _listed_by(kubeadm, release)
    release = release or _fetch(f"{_RELEASES}/release/stable-{wanted}.txt").decode().strip()
    with _fetched_kubeadm(release, sha256) as program:
        return _listed_by(program, release)


def of_package(package: Path, version: str, addons: Iterable[str] = ()) -> list[str]:
    """The images that a package names: in its own CNI manifest, and in those of add-ons.

    An add-on is that of network policies, if the package has it.

    :param version: of Kubernetes, for which charts are rendered
    :param addons: names of manifests in the package, and of charts: ``CHART.tgz``, or with values
        ``CHART.tgz:VALUES``
    """
    found: list[str] = []
    own = [_POLICIES] if (package / _POLICIES).is_file() else []
    for name in (DEFAULT_CNI_MANIFEST, *own, *addons):
        names = name.split(":", 1) if _CHART in name else [name]
        files = [package / each for each in names]
        for each, path in zip(names, files, strict=True):
            if not path.is_file():
                raise ImageError(f"{package} has no {each}")
        is_chart = files[0].suffix == _CHART
        text = _render(version, *files) if is_chart else files[0].read_text()
        try:
            found += manifests.images_in(text)
        except BadYaml as error:
            raise ImageError(f"{files[0]} is no manifest: {error}") from error
    return sorted({*found})


def _render(version: str, chart: Path, *values: Path) -> str:
    """The objects of a chart, as machines render them."""
    wanted = read_version(version)
    assert wanted, version
    command = ["helm", "template", "addon", str(chart), "--include-crds", "--no-hooks"]
    command += ["--kube-version", f"{wanted.series.name}.0"]
    command += [f"--values={path}" for path in values]
    if not shutil.which("helm"):
        raise ImageError(
            f"images of charts are listed by Helm alone, which is not installed here: install "
            f"Helm, or leave {chart.name} out, run `{' '.join(map(shlex.quote, command))}` where "
            "Helm is, and push the images that the output names besides"
        )
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ImageError(f"helm does not render {chart}: {error}") from error
    if done.returncode:
        raise ImageError(f"helm does not render {chart}: {done.stderr.strip()}")
    return done.stdout


def split(reference: str) -> tuple[str, str]:
    """Repository and tag of a reference.

    :raises ImageError: the reference has a digest, or no tag
    """
    match = _TAGGED.fullmatch(reference)
    if not match:
        raise ImageError(
            f"{reference}: images are pushed under their tags: name the image by a tag, and "
            "without a digest"
        )
    return match["repository"], match["tag"]


def check_published(reference: str, others: Collection[str]) -> None:
    """Check that an image has the whole name of one that machines pull, not only its last part.

    :param others: references of the images in the package's manifests
    :raises ImageError: it has not
    """
    repository = split(reference)[0].removeprefix(_DOCKER_HUB)
    known = {split(other)[0].removeprefix(_DOCKER_HUB) for other in others}
    if not _PUBLISHED.fullmatch(repository) and repository not in known:
        raise ImageError(
            f"{reference} is no image of Kubernetes or of the package's manifests: leave the "
            "image out of the archive, or save it under the name that it is published under"
        )


def _listed_by(kubeadm: Path, release: str) -> list[str]:
    command = [str(kubeadm), "config", "images", "list"]
    command += ["--kubernetes-version", release] if release else []
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise ImageError(f"{kubeadm} does not list its images: {error}") from error
    return done.stdout.split()


@contextmanager
def _fetched_kubeadm(release: str, sha256: str) -> Iterator[Path]:
    machine = platform.machine()
    kind = {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)
    url = f"{_RELEASES}/release/{release}/bin/linux/{kind}/kubeadm"
    content = _fetch(url)
    # The digest published beside the program shows damage only: both are from one server.
    _check_digest(url, content, sha256 or _fetch(f"{url}.sha256").decode().strip())
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "kubeadm")
        program.write_bytes(content)
        program.chmod(0o755)
        yield program


def _check_digest(name: str, content: bytes, sha256: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if sha256 and found != sha256.lower():
        raise ImageError(f"{name}: SHA-256 is {found}, not {sha256}: fetch kubeadm again")


def _fetch(url: str) -> bytes:
    try:
        answer = requests.get(url, timeout=_PATIENCE)
        answer.raise_for_status()
    except requests.RequestException as error:
        raise ImageError(
            f"{url}: {error}. Without internet, name a kubeadm of the release with --kubeadm"
        ) from error
    for step in (*answer.history, answer):
        if not step.url.startswith("https://"):
            raise ImageError(f"{url} leads to {step.url}: kubeadm is taken over https only")
    return answer.content
