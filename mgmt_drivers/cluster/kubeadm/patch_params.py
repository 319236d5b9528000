"""The folder of the VNF package with patches of the control plane's static pods."""

import re
from pathlib import Path

from mgmt_drivers.params.kinds import PackageFile, read_yaml
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

    def take(self, text: str, reader: Reader) -> Path | None:
        folder = super().take(text, reader)
        for path in sorted(folder.iterdir()) if folder else ():
            if path.name == FILES:
                continue
            if _NAME.fullmatch(path.name) and path.is_file():
                read_yaml(path, f"{path.name}: a patch in YAML or JSON", reader)
            else:
                reader.refuse(
                    f"{path.name} is no patch of kube-apiserver, kube-controller-manager, "
                    "kube-scheduler or etcd: the name must be such as kube-apiserver+json.yaml"
                )
        return folder
