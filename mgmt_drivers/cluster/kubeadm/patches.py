"""The patches that kubeadm applies on a node: of static pods, and of kubelet's configuration.

A node keeps them in a folder whose name tells their content, since an image may be made from a
node, and kubeadm applies each patch that it finds.
"""

import hashlib

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm.patch_params import FILES
from mgmt_drivers.cluster.topology import group_of
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host

KUBELET_PATCH = "kubeletconfiguration+merge.json"
FILES_ON_NODE = "/etc/kubernetes/patch-files"  # which kubeadm does not reset


def folder(host: Host, cluster: Cluster) -> str:
    """The folder of a node's patches; empty if it has none."""
    found = _patches(host, cluster)
    if not found:
        return ""
    sha = hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()
    return f"{STATE_FOLDER}/patches-{sha[:16]}"


def files(host: Host, cluster: Cluster) -> list[File]:
    """The files of a node's patches, and the files that the patched programs read."""
    place, found = folder(host, cluster), _patches(host, cluster)
    others = _in(cluster, FILES) if cluster.is_control_plane(host) else {}
    return [
        *(File(f"{place}/{name}", content, "0600") for name, content in found.items()),
        *(File(f"{FILES_ON_NODE}/{name}", content, "0600") for name, content in others.items()),
    ]


def _patches(host: Host, cluster: Cluster) -> dict[str, bytes]:
    found = _in(cluster) if cluster.is_control_plane(host) else {}
    kubelet = group_of(host.node, cluster.params).kubelet_config
    return {**found, KUBELET_PATCH: kubelet.encode()} if kubelet else found


def _in(cluster: Cluster, below: str = "") -> dict[str, bytes]:
    """The files of the folder of the VNF package, or of a folder in it, by name."""
    place = cluster.params.kubeadm_patches
    paths = sorted((place / below).iterdir()) if place and (place / below).is_dir() else []
    return {path.name: path.read_bytes() for path in paths if path.is_file()}
