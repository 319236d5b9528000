"""Helm's program and a chart, as files of VNF packages."""

import io
import subprocess
import tarfile
import urllib.request
from pathlib import Path

from functional.packages import HERE
from tools.client import kubernetes_source
from tools.client.config import CONFIG
from tools.client.packages import build_csar

HELM_ARCHIVE = "Files/kubernetes/helm.tar.gz"
# Tacker's v1 API takes what stands before the last hyphen for the folder in the archive.
CHART = "Files/kubernetes/webserver-0.1.0.tgz"
_PUBLISHED = "https://get.helm.sh/helm-v3.22.0-linux-amd64.tar.gz"


def helm_archive() -> dict[str, Path]:
    """Helm as its project publishes it, or made of the mirror's package; by its path in a CSAR."""
    CONFIG.build.mkdir(parents=True, exist_ok=True)
    path = CONFIG.build / "helm.tar.gz"
    if CONFIG.kubernetes_mirror:
        _repack(_package_of_mirror(), path)
    else:
        urllib.request.urlretrieve(_PUBLISHED, path)
    return {HELM_ARCHIVE: path}


def _package_of_mirror() -> Path:
    repository = f"{kubernetes_source.mirror_url()}/apt"
    with urllib.request.urlopen(f"{repository}/Packages") as answer:  # noqa: S310 - the mirror's
        lines = answer.read().decode().splitlines()
    names = (line.removeprefix("Filename: ") for line in lines if line.startswith("Filename: "))
    name = next(name for name in names if Path(name).name.startswith("helm_"))
    path = CONFIG.build / "helm.deb"
    urllib.request.urlretrieve(f"{repository}/{name}", path)  # noqa: S310
    return path


def _repack(package: Path, target: Path) -> None:
    content = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", str(package)], check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as source, tarfile.open(target, "w:gz") as made:
        entry = source.getmember("./usr/bin/helm")
        program = source.extractfile(entry)
        entry.name = "linux-amd64/helm"
        made.addfile(entry, program)


def chart() -> dict[str, Path]:
    """A chart of web servers, by its path in a CSAR."""
    CONFIG.build.mkdir(parents=True, exist_ok=True)
    path = CONFIG.build / "chart.tgz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(HERE / "chart", arcname="webserver")
    return {CHART: path}


def chart_csar() -> Path:
    """The CSAR of a CNF with a chart of web servers."""
    return build_csar(HERE / "cnf_package", chart())
