"""The folder of the VNF package with patches of the control plane's static pods."""

import re
from pathlib import Path

from mgmt_drivers import package_yaml
from mgmt_drivers.params.kinds import PackageFile
from mgmt_drivers.params.reader import Reader

FILES = "files"  # beside the patches: what the patched programs read
# kubeadm's documentation, "Customizing with patches".
_NAME = re.compile(
    r"(?:kube-apiserver|kube-controller-manager|kube-scheduler|etcd)[A-Za-z0-9_.-]*"
    r"(?:\+(?:strategic|merge|json))?\.(?:yaml|json)"
)


class PatchFolder(PackageFile):
    words = "folder in the VNF package"
    noun, is_there = "folder", staticmethod(Path.is_dir)

    def check(self, path: Path, reader: Reader) -> None:
        for file in sorted(path.iterdir()):
            if file.name != FILES and (fault := _fault_of(file)):
                reader.refuse(fault)


def _fault_of(path: Path) -> str:
    """Why a file is no patch; empty if it is one."""
    if not _NAME.fullmatch(path.name) or not path.is_file():
        return (
            f"{path.name} is no patch of kube-apiserver, kube-controller-manager, "
            "kube-scheduler or etcd: the name must be such as kube-apiserver+json.yaml"
        )
    try:
        fault = "" if package_yaml.load_all(path.read_bytes()) else "it is empty"
    except package_yaml.BadYaml as error:
        fault = str(error)
    return fault and f"is not {path.name}: a patch in YAML or JSON: {fault}"
