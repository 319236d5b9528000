"""storage_server and pv_registration_params: what is taken over, and every error with its path."""

import copy
import re
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster.storage.storage_params import (
    CP,
    PV_REGISTRATION,
    STORAGE,
    VOLUME,
    Manifest,
    Storage,
    with_manifests,
)
from mgmt_drivers.params.declaration import param, read_fields
from mgmt_drivers.params.reader import Context, Reader, ValidationErrors

_VOLUME = """
apiVersion: v1
kind: PersistentVolume
metadata: {{name: {name}}}
spec:
  capacity: {{storage: 1Gi}}
  accessModes: [ReadWriteMany]
  nfs: {{server: replaced, path: {path}}}
---
"""
_GOOD = {
    "storage_server": {
        "ssh_cp_name": "CP3",
        "username": "ubuntu",
        "password": "hidden",
        "cinder_volume_setup_params": [
            {"volume_resource_id": "vol1", "mount_to": "/volume"},
            {"volume_resource_id": "vol2", "mount_to": "/volume2/"},
        ],
        "nfs_server_setup_params": [
            {"export_dir": "/volume/nfs/pv1", "export_to": "10.10.0.0/24"},
            {"export_dir": "/volume/nfs/pv1", "export_to": "10.11.0.0/24"},
            {"export_dir": "/volume2", "export_to": "10.10.0.0/24"},
        ],
    },
    "pv_registration_params": [
        {"pv_manifest_file_path": "one.yaml", "nfs_server_cp": "CP3"},
        {"pv_manifest_file_path": "two.yaml", "nfs_server_cp": "CP3"},
    ],
}
_CONSEQUENCE = re.compile("is not exported|is not below the mount|/etc belongs to the system")
# Where a good manifest is spoilt, and what is said of it.
_SPOILT = (
    ("nfs: {", "other: {", "PersistentVolume x has no spec.nfs.path"),
    ("/volume2", "/volume/nfs/pv10",
     "PersistentVolume x: its spec.nfs.path /volume/nfs/pv10 is not exported"),
    ("path: /volume2", 'path: "/volume2/\\0"', "spec.nfs.path has non-printable characters"),
    ("path: /volume2", 'path: "/volume2/\\n"', "spec.nfs.path has non-printable characters"),
    ("path: /volume2", 'path: "/volume2/\\ud800"', "not YAML: found invalid Unicode"),
    ("path: /volume2", f"path: /volume2/{'a' * 256}", "has a name of more than 255 bytes"),
    ("path: /volume2", f"path: /volume2{'/abcdefg' * 512}", "is longer than 4095 bytes"),
    ("capacity", "size", "PersistentVolume x has no spec.capacity.storage"),
    ("accessModes: [ReadWriteMany]", "accessModes: ReadWriteMany", "no list spec.accessModes"),
    ("name: x", "name: NFS_PV", "whose metadata.name is not one of lower case"),
    ("name: x", "name: x.", "whose metadata.name is not one of lower case"),
    ("name: x", "labels: {}", "an object lacks apiVersion, kind or metadata.name"),
    ("name: x", "name: x, labels: [a]", "or metadata.labels are no mapping"),
    ("name: x", "name: x, annotations: {since: 2024-01-01}", "date is not JSON serializable"),
    ("apiVersion: v1", "apiVersion: v2", "whose apiVersion is not v1"),
)


@dataclass(frozen=True)
class _Both:
    storage: Storage | None = param("storage_server", STORAGE, meaning="")
    manifests: tuple[Manifest, ...] = param("pv_registration_params", PV_REGISTRATION, meaning="")


class StorageParamsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = Path(folder.name)
        self.write("one.yaml", a="/volume/nfs/pv1", b="/volume/nfs/pv1/sub")
        self.write("two.yaml", c="/volume2")
        self.write("again.yaml", c="/volume2")
        (self.package / "pod.yaml").write_text("{apiVersion: v1, kind: Pod, metadata: {name: x}}")
        (self.package / "text.yaml").write_text("{")

    def write(self, file: str, **paths: str) -> None:
        text = "".join(_VOLUME.format(name=name, path=path) for name, path in paths.items())
        (self.package / file).write_text(text)

    def read(self, values: Any) -> tuple[Storage | None, list[str]]:
        errors = ValidationErrors()
        names = {CP: {"CP3", "FIP"}, VOLUME: {"vol1", "vol2"}}
        reader = Reader(values, "p", errors, Context(self.package, names))
        found = read_fields(_Both, reader)
        storage = with_manifests(found.storage, found.manifests, reader)
        return storage, [error.removeprefix("p.") for error in errors.messages]

    def test_what_is_taken_over(self) -> None:
        found, errors = self.read(_GOOD)
        self.assertEqual([], errors)
        assert found
        self.assertEqual(["/volume", "/volume2"], [v.mount_point for v in found.volumes])
        self.assertEqual(["vol1", "vol1", "vol2"],
                         [found.volume_of(e.folder).resource for e in found.exports])
        names = [[v["metadata"]["name"] for v in m.volumes] for m in found.manifests]
        self.assertEqual([["a", "b"], ["c"]], names)
        self.assertNotIn("hidden", repr(found))
        self.assertFalse(found.exports_to_nodes)

    def test_the_nic_of_tackers_sample_is_accepted(self) -> None:
        self.assertEqual([], self.read(_changed("storage_server.nic_cp_name", "CP3"))[1])
        (error,) = self.read(_changed("storage_server.nic_cp_name", "CP9"))[1]
        words = "storage_server.nic_cp_name: the VNF package has no"
        self.assertTrue(error.startswith(words), error)

    def test_exports_to_nodes_and_squashed_ones(self) -> None:
        values = _changed("storage_server.nfs_server_setup_params.2.root_squash", True)
        del values["storage_server"]["nfs_server_setup_params"][0]["export_to"]
        found, errors = self.read(values)
        self.assertEqual([], errors)
        assert found
        self.assertTrue(found.exports_to_nodes)
        self.assertEqual([None, "10.11.0.0/24", "10.10.0.0/24"],
                         [e.network and str(e.network) for e in found.exports])
        self.assertEqual([None, None, True], [e.squashes_root for e in found.exports])
        del values["storage_server"]["nfs_server_setup_params"][1]["export_to"]
        (error,) = self.read(values)[1]
        self.assertIn("nfs_server_setup_params[1].export_dir: is exported to the nodes twice",
                      error)

    def test_export_to_one_address(self) -> None:
        path = "storage_server.nfs_server_setup_params.0.export_to"
        found, errors = self.read(_changed(path, "10.10.0.5"))
        self.assertEqual([], errors)
        assert found
        self.assertEqual("10.10.0.5/32", str(found.exports[0].network))
        self.assertEqual([], self.read(_changed(path, "10.0.0.0/8"))[1])

    def test_none(self) -> None:
        self.assertEqual((None, []), self.read({}))
        without = {**_GOOD, "storage_server": None}
        self.assertEqual(["pv_registration_params: needs a storage_server"], self.read(without)[1])

    def test_one_error_each(self) -> None:
        volume = "storage_server.cinder_volume_setup_params"
        export = "storage_server.nfs_server_setup_params"
        manifest = "pv_registration_params"
        cases: list[tuple[str, Any, str]] = [
            (f"{volume}.0.volume_resource_id", "vol9", "the VNF package has no Cinder volume vol9"),
            (f"{volume}.1.volume_resource_id", "vol1", "vol1 is listed twice"),
            (f"{volume}.1.mount_to", "volume2", "must be an absolute path"),
            (f"{volume}.1.mount_to", "/volume2/../etc", "must be an absolute path"),
            (f"{volume}.1.mount_to", "/a b", "must be an absolute path"),
            (f"{volume}.1.size", 3, "unknown parameter"),
            (f"{export}.0.export_dir", "/volumes/x", "is not below the mount point of a volume"),
            (f"{export}.0.export_dir", f"/volume/{'a' * 256}", "has a name of more than 255 bytes"),
            (f"{export}.1.export_to", "10.10.0.0/24", "is exported to this network twice"),
            (f"{export}.0.export_to", "everybody", "must be an IPv4 network"),
            (f"{export}.0.export_to", "10.10.0.0", "must be an IPv4 network such as"),
            (f"{export}.0.export_to", "10.10.0.256", "must be an IPv4 network such as"),
            (f"{export}.0.export_to", "127.0.0.1", "overlaps with 127.0.0.0/8"),
            (f"{export}.0.root_squash", "yes", "must be true or false, not a string"),
            (f"{export}.0.root_squash", 1, "must be true or false, not a number"),
            (f"{export}.0.export_to", "0.0.0.0/0", "overlaps with 0.0.0.0/8, where machines have"),
            (f"{export}.0.export_to", "128.0.0.0/1", "overlaps with 169.254.0.0/16"),
            (f"{export}.0.export_to", "32.0.0.0/3", "32.0.0.0/3 is larger than any network of mac"),
            (f"{export}.0.export_to", "10.0.0.0/7", "larger than any network of machines: use a"),
            (f"{manifest}.0.pv_manifest_file_path", "none", "the VNF package has no file none"),
            (f"{manifest}.0.pv_manifest_file_path", None, "missing"),
            (f"{manifest}.0.pv_manifest_file_path", "text.yaml", "is not a file of Kubernetes o"),
            (f"{manifest}.0.pv_manifest_file_path", "pod.yaml", "holds objects other than"),
            (f"{manifest}.0.nfs_server_cp", "CP1",
             "the VNF package has no storage server's CP CP1; it has: CP3, FIP"),
            ("storage_server.ssh_cp_name", "CP1",
             "the VNF package has no storage server's CP CP1; it has: CP3, FIP"),
        ]
        for path, value, words in cases:
            with self.subTest(path=path, value=value):
                _, errors = self.read(_changed(path, value))
                self.assertIn(words, errors[0])
                where = errors[0].partition(":")[0].replace("[", ".").replace("]", "")
                key = "export_dir" if "is exported to" in words else path.rpartition(".")[2]
                self.assertEqual(f"{path.rpartition('.')[0]}.{key}", where)
                self.assertEqual([], [f for f in errors[1:] if not _CONSEQUENCE.search(f)])

    def test_what_the_api_would_refuse(self) -> None:
        for good, spoilt, words in _SPOILT:
            with self.subTest(spoilt=spoilt):
                self.write("spoilt.yaml", x="/volume2")
                path = self.package / "spoilt.yaml"
                path.write_text(path.read_text().replace(good, spoilt))
                values = _changed("pv_registration_params.0.pv_manifest_file_path", "spoilt.yaml")
                (error,) = self.read(values)[1]
                self.assertIn("pv_registration_params[0].pv_manifest_file_path: ", error)
                self.assertIn(words, error)

    def test_errors_of_volumes_and_exports_together(self) -> None:
        values = _changed("storage_server.cinder_volume_setup_params.1.mount_to", "volume2")
        values["storage_server"]["nfs_server_setup_params"][2]["export_dir"] = "/elsewhere/x"
        errors = "\n".join(self.read(values)[1])
        self.assertIn("[1].mount_to: must be an absolute path", errors)
        self.assertIn("[2].export_dir: is not below the mount point of a volume:", errors)

    def test_mount_points(self) -> None:
        path = "storage_server.cinder_volume_setup_params.1.mount_to"
        for value, words in (
            ("/", "belongs to the system"),
            ("/var", "/var belongs to the system; use a folder such as /volume"),
            ("/etc/cron.d", "/etc/cron.d belongs to the system"),
            ("/var/lib/kubelet", "/var/lib/kubelet belongs to the system"),
            ("/volume", "overlaps with /volume"),
            ("/volume/inner", "overlaps with /volume"),
        ):
            self.assertIn(words, self.read(_changed(path, value))[1][0])

    def test_lists_that_are_empty(self) -> None:
        for key in ("cinder_volume_setup_params", "nfs_server_setup_params"):
            _, errors = self.read(_changed(f"storage_server.{key}", []))
            words = f"storage_server.{key}: must be a list with at least one object"
            self.assertIn(words, errors)

    def test_the_same_name_twice(self) -> None:
        _, errors = self.read(
            _changed("pv_registration_params.0.pv_manifest_file_path", "again.yaml")
        )
        self.assertEqual(2, len(errors))
        self.assertIn("PersistentVolume c is there more than once", errors[0])


def _changed(path: str, value: Any) -> dict[str, Any]:
    """The good values with another one at a path of keys and numbers."""
    values: Any = copy.deepcopy(_GOOD)
    place = values
    *steps, last = path.split(".")
    for step in steps:
        place = place[int(step)] if step.isdecimal() else place[step]
    place[last] = value
    return dict(values)
