"""A VNF package with each file and name that the examples of parameters name."""

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

from mgmt_drivers.cluster.cluster_params import DEFAULT_CNI_MANIFEST
from mgmt_drivers.cluster.packages.repository_params import CA_FILE, KEY_FILE
from mgmt_drivers.cluster.packages.script_params import DECLARATION
from mgmt_drivers.testing.made_certificates import key_and_certificate
from mgmt_drivers.testing.simulated_cloud import helm_archive

FLAVOUR = "complex"
RELEASE_BEFORE = "1.36.4"  # of a cluster that is modified
CPS: Mapping[str, str] = {
    "masterNode_CP1": "masterNode",
    "workerNode_CP2": "workerNode",
    "storage_server_CP": "storage_server",
}
_HOT = """\
resources:
  vip_CP: {type: OS::Neutron::Port}
  workerNode2_CP3: {type: OS::Neutron::Port}
  vip_FIP: {type: OS::Neutron::FloatingIP}
  storage_server_volume: {type: OS::Cinder::Volume}
"""
_CNI = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: pods}\n"
_VOLUME = """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: nfs-pv1}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  nfs: {server: 0.0.0.0, path: /volume/nfs/pv1}
"""


def image_archive() -> bytes:
    """A file as `docker save` writes it, as far as the drivers read it."""
    manifest = json.dumps([{"Config": "c", "RepoTags": ["registry:2"], "Layers": []}]).encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("manifest.json")
        entry.size = len(manifest)
        archive.addfile(entry, io.BytesIO(manifest))
    return buffer.getvalue()


def write_package(folder: Path) -> None:
    """Write the package's files below a folder."""
    key, certificate = key_and_certificate()
    script = f"#!/bin/bash\n{DECLARATION}\n".encode()
    files = {
        f"BaseHOT/{FLAVOUR}/top.yaml": _HOT.encode(),
        "Scripts/install_k8s_cluster.sh": script,
        "Scripts/install_helm.sh": script,
        DEFAULT_CNI_MANIFEST: _CNI.encode(),
        "Files/kubernetes/calico.yaml": _CNI.encode(),
        "Files/kubernetes/patches/kube-apiserver+json.yaml": b"[]\n",
        "Files/kubernetes/addons/metrics-server.yaml": _CNI.encode(),
        "Files/kubernetes/addons/cinder-csi.tgz": helm_archive("cinder-csi/Chart.yaml"),
        "Files/kubernetes/addons/cinder-csi-values.yaml": b"{}\n",
        "Files/kubernetes/key.asc": b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n",
        "Files/kubernetes/nfs-pv1.yaml": _VOLUME.encode(),
        "Files/ca.crt": certificate,
        CA_FILE: certificate,
        KEY_FILE: b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n",
        "Files/bundles/1.37.2.tar": b"a bundle",
        "Files/tls.crt": certificate,
        "Files/tls.key": key,
        "Files/htpasswd": b"user01:$2y$05$" + b"a" * 53 + b"\n",
        "Files/backup.tar": b"backup",
        "Files/helm-v3.19.0-linux-amd64.tar.gz": helm_archive(),
        "Files/images/private_registry.tar": image_archive(),
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
