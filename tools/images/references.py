"""What a cluster's machines pull: the images of a release of Kubernetes, and of its pod network."""

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from mgmt_drivers.cluster.cluster_params import DEFAULT_CNI_MANIFEST
from mgmt_drivers.cluster.pod_network import pod_network
from mgmt_drivers.cluster.series import SUPPORTED

_RELEASES = "https://dl.k8s.io"
_PATIENCE = 60.0  # seconds without a byte
_RELEASE = re.compile(r"v?(?P<release>(?P<series>\d+\.\d+)(\.\d+)?)", re.ASCII)


class ImageError(Exception):
    """An expected error; its text says what to do."""


def of_release(version: str, kubeadm: Path | None = None) -> list[str]:
    """The images that kubeadm of a release, or of a series' newest one, asks for.

    Only kubeadm itself knows them.

    :param kubeadm: the program, where it is at hand; otherwise it is fetched from the Kubernetes
        project
    """
    match = _RELEASE.fullmatch(version)
    if not match or match["series"] not in SUPPORTED:
        raise ImageError(f"{version} is no version from {min_series()} to {max_series()}")
    if kubeadm:
        return _listed_by(kubeadm, [] if version == match["series"] else [f"v{match['release']}"])
    release = f"v{match['release']}"
    if match["release"] == match["series"]:
        release = _fetch(f"{_RELEASES}/release/stable-{match['series']}.txt").decode().strip()
    with _fetched_kubeadm(release) as program:
        return _listed_by(program, [release])


def of_pod_network(package: Path) -> list[str]:
    """The images that a package's own CNI manifest names."""
    manifest = package / DEFAULT_CNI_MANIFEST
    if not manifest.is_file():
        raise ImageError(f"{package} has no {DEFAULT_CNI_MANIFEST}")
    return pod_network.images_in(manifest.read_text())


def min_series() -> str:
    return next(iter(SUPPORTED))


def max_series() -> str:
    return list(SUPPORTED)[-1]


def _listed_by(kubeadm: Path, release: list[str]) -> list[str]:
    command = [str(kubeadm), "config", "images", "list"]
    command += ["--kubernetes-version", *release] if release else []
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise ImageError(f"{kubeadm} does not list its images: {error}") from error
    return done.stdout.split()


@contextmanager
def _fetched_kubeadm(release: str) -> Iterator[Path]:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}
    architecture = subprocess.run(["uname", "-m"], check=True, capture_output=True, text=True)
    kind = machine.get(architecture.stdout.strip(), architecture.stdout.strip())
    url = f"{_RELEASES}/release/{release}/bin/linux/{kind}/kubeadm"
    content = _fetch(url)
    if hashlib.sha256(content).hexdigest() != _fetch(f"{url}.sha256").decode().strip():
        raise ImageError(f"{url} has not the digest that is published beside it")
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "kubeadm")
        program.write_bytes(content)
        program.chmod(0o755)
        yield program


def _fetch(url: str) -> bytes:
    try:
        answer = requests.get(url, timeout=_PATIENCE)
        answer.raise_for_status()
    except requests.RequestException as error:
        raise ImageError(
            f"{url}: {error}. Without internet, name a kubeadm of the release with --kubeadm"
        ) from error
    return answer.content
