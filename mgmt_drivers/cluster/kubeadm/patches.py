"""The patches that kubeadm applies on a node: of static pods, and of kubelet's configuration.

A node keeps them in a folder whose name tells their content, since an image may be made from a
node, and kubeadm applies each patch that it finds.
"""

import hashlib
from pathlib import Path

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm.patch_params import FILES
from mgmt_drivers.cluster.topology import group_of
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host

KUBELET_PATCH = "kubeletconfiguration+merge.json"
_FILES_ON_NODE = "/etc/kubernetes/patch-files"  # which kubeadm does not reset


def folder(host: Host, cluster: Cluster) -> str:
    """The folder of a node's patches; empty if it has none."""
    paths = [file.path for file in files(host, cluster) if file.path.startswith(STATE_FOLDER)]
    return paths[0].rpartition("/")[0] if paths else ""


def files(host: Host, cluster: Cluster) -> list[File]:
    """The files of a node's patches, and the files that the patched programs read."""
    place = cluster.params.kubeadm_patches if cluster.is_control_plane(host) else None
    patches = _read(place) if place else {}
    if kubelet := group_of(host.node, cluster.params).kubelet_config:
        patches[KUBELET_PATCH] = kubelet.encode()
    sha = hashlib.sha256(repr(sorted(patches.items())).encode()).hexdigest()
    given = {f"{STATE_FOLDER}/patches-{sha[:16]}/{name}": patches[name] for name in patches}
    if place and (place / FILES).is_dir():
        given |= {f"{_FILES_ON_NODE}/{name}": text for name, text in _read(place / FILES).items()}
    return [File(path, content, "0600") for path, content in given.items()]


def _read(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(place.iterdir()) if path.is_file()}
