"""The parameter ``addons``: manifests and charts of the VNF package."""

import re
import tarfile
from dataclasses import dataclass
from pathlib import Path

from mgmt_drivers.cluster.addons import manifests
from mgmt_drivers.package_yaml import BadYaml
from mgmt_drivers.params.declaration import Always, Beside, ObjectOf, Unless, param
from mgmt_drivers.params.kinds import ListOf, PackageFile, TextFile, TextKind
from mgmt_drivers.params.reader import Reader

NAME = "addons"
NFS_SERVER = "@NFS_SERVER@"  # in manifests and values: the address of the storage server
MANIFEST, CHART, VALUES = "manifest_path", "chart_path", "values_path"

# RFC 1123; Helm takes no longer names.
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,51}[a-z0-9])?")


class _Label(TextKind[str]):
    words, fallback, pattern = "name (RFC 1123)", "default", f"^{_LABEL.pattern}$"

    def take(self, text: str, reader: Reader) -> str:
        if not _LABEL.fullmatch(text):
            reader.refuse("must be at most 53 of a-z, 0-9 and -, without - at its ends (RFC 1123)")
        return text


class ManifestFile(PackageFile):
    """A file of Kubernetes objects; None after an error."""

    def take(self, text: str, reader: Reader) -> Path | None:
        path = super().take(text, reader)
        try:
            if path is None or manifests.parse(path.read_bytes()):
                return path
            fault = "it is empty"
        except BadYaml as error:
            fault = str(error)
        reader.refuse(f"is not a file of Kubernetes objects in YAML: {fault}")
        return None


class _ChartFile(PackageFile):
    def check(self, path: Path, reader: Reader) -> None:
        if not tarfile.is_tarfile(path):
            reader.refuse("is not a chart as `helm package` writes it, a .tgz")


@dataclass(frozen=True)
class Addon:
    """An add-on: the objects of a manifest, or those that a chart renders."""

    name: str = param(
        "name", _Label(), required=Always(), example="metrics-server", meaning="unique name",
    )
    manifest: Path | None = param(
        MANIFEST, ManifestFile(), required=Unless(CHART),
        example="Files/kubernetes/addons/metrics-server.yaml",
        meaning="file with the objects, YAML without aliases",
    )
    chart: Path | None = param(
        CHART, _ChartFile(), example="Files/kubernetes/addons/cinder-csi.tgz",
        meaning="in place of ``manifest_path``: a chart from ``helm package``; needs ``helm``",
    )
    values: Path | None = param(
        VALUES, TextFile(), example="Files/kubernetes/addons/cinder-csi-values.yaml",
        meaning="values for the chart", left_out="the chart's own",
    )
    namespace: str = param(
        "namespace", _Label(), required=Beside(CHART), default="default", example="kube-system",
        meaning="namespace of the objects that name none",
    )


def _check(addon: Addon, reader: Reader) -> Addon:
    if reader.has(CHART) and reader.has(MANIFEST):
        reader.at(MANIFEST).refuse(f"cannot be combined with {CHART}: give one of them")
    if reader.has(VALUES) and not reader.has(CHART):
        reader.at(VALUES).refuse(f"needs a {CHART}")
    return addon


ADDONS = ListOf(ObjectOf(Addon, _check))
