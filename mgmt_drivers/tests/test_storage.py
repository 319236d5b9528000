"""Disks, exports and PersistentVolumes: what is done, and what is left alone."""

import json
import unittest
from typing import Any

from mgmt_drivers.cluster.storage import disks, nfs, volumes
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.testing.fakes import fake_host

_EXT4 = "DEVNAME=/dev/vdb\nUUID=u-1\nTYPE=ext4\n"


class DisksTest(unittest.TestCase):
    def setUp(self) -> None:
        self.host, self.session = fake_host()
        self.addCleanup(self.session.assert_done)

    def blkid(self, stdout: str, status: int = 0) -> None:
        self.session.expect("sudo", "blkid", "--probe", stdout=stdout, status=status)

    def test_a_volume_is_found_by_what_disks_show_of_its_id(self) -> None:
        self.session.expect("sudo", "find-disk", stdout="/dev/disk/by-id/virtio-0123\n")
        found = disks.find(self.host, "01234567-89ab-cdef-0123-456789abcdef")
        self.assertEqual("/dev/disk/by-id/virtio-0123", found)
        self.assertEqual("01234567-89ab-cdef-0", self.session.ran[0][-1])

    def test_only_a_blank_disk_is_formatted(self) -> None:
        self.blkid("", status=2)
        self.session.expect("sudo", "dd")
        self.session.expect("sudo", "test", "-b")
        self.session.expect("sudo", "wipefs")
        self.session.expect("sudo", "mkfs.ext4", "-q", "/dev/vdb")
        self.blkid(_EXT4)
        self.assertEqual("u-1", disks.ensure_ext4(self.host, "/dev/vdb"))
        self.session.ran.clear()
        self.blkid(_EXT4)
        self.blkid(_EXT4)
        self.assertEqual("u-1", disks.ensure_ext4(self.host, "/dev/vdb"))
        for seen, what in (("TYPE=xfs\nUUID=x\n", "xfs"), ("PTTYPE=gpt\n", "gpt")):
            self.blkid(seen)
            with self.assertRaisesRegex(MgmtDriverError, f"/dev/vdb holds {what}, not ext4"):
                disks.ensure_ext4(self.host, "/dev/vdb")
        # what cannot be read is not blank, whatever blkid says
        self.blkid("", status=2)
        self.session.expect("sudo", "dd", status=1, stderr="Input/output error")
        with self.assertRaisesRegex(MgmtDriverError, "it may hold data: Input/output error"):
            disks.ensure_ext4(self.host, "/dev/vdb")
        # what is damaged is not blank either
        self.blkid("", status=2)
        self.session.expect("sudo", "dd")
        self.session.expect("sudo", "test", "-b")
        self.session.expect("sudo", "wipefs", stdout="ext4\n")
        with self.assertRaisesRegex(MgmtDriverError, "holds a damaged ext4: only a blank"):
            disks.ensure_ext4(self.host, "/dev/vdb")
        # blkid that fails for another reason says nothing of a blank disk
        self.session.expect("sudo", "blkid", status=4, stderr="usage")
        with self.assertRaises(MgmtDriverError):
            disks.ensure_ext4(self.host, "/dev/vdb")

    def test_what_else_is_mounted_stays(self) -> None:
        self.session.expect("sudo", "findmnt", stdout="other\n")
        with self.assertRaisesRegex(MgmtDriverError, "mount point already, of file system other"):
            disks.is_mounted(self.host, disks.Mount("u-1", "/volume"))

    def test_fstab_keeps_what_it_has(self) -> None:
        self.session.expect("sudo", "read-file", stdout="/dev/vda / ext4 defaults 0 1\n")
        self.session.expect_new_file("/etc/fstab")
        self.session.expect("sudo", "systemctl", "daemon-reload")
        self.session.expect("sudo", "findmnt", status=1)
        self.session.expect("sudo", "mkdir", "--parents", "/volume")
        self.session.expect("sudo", "mount", "/volume")
        disks.mount_permanently(self.host, [disks.Mount("u-1", "/volume")], "nfs-server.service")
        text = self.session.written()["/etc/fstab"].decode()
        self.assertTrue(text.startswith("/dev/vda / ext4 defaults 0 1\n# BEGIN"))
        self.assertIn(
            "\nUUID=u-1 /volume ext4 nosuid,nodev,noexec,nofail,"
            "x-systemd.before=nfs-server.service 0 2\n",
            text,
        )


class ExportsTest(unittest.TestCase):
    def test_what_is_not_exported_is_an_error(self) -> None:
        host, session = fake_host()
        exports = [nfs.Export("/v/a", "10.0.0.0/24", "/v"), nfs.Export("/v/a", "10.1.0.0/24", "/v")]
        session.expect("sudo", "give-folder", "/v/a")
        session.expect("sudo", "apply-unit", "nfs-server.service")
        session.expect("sudo", "exportfs", "-s", stdout="/v/a  10.0.0.0/24(sync,fsid=1)\n")
        with self.assertRaisesRegex(MgmtDriverError, "does not export /v/a to 10.1.0.0/24[.]"):
            nfs.serve(host, exports)
        written = session.written()["/etc/exports.d/mgmt-driver.exports"].decode()
        options = "rw,sync,subtree_check,root_squash,mountpoint=/v,fsid="
        self.assertIn(f"/v/a 10.0.0.0/24({options}", written)
        session.assert_done()


    def test_root_is_squashed_where_it_is_to_be(self) -> None:
        """Then root of the clients is nobody, who could not write to a folder of root's."""
        host, session = fake_host()
        exports = [
            nfs.Export("/v/a", "10.0.0.0/24", "/v"),
            nfs.Export("/v/b", "10.0.0.0/24", "/v", squashes_root=False),
        ]
        self.assertIn(",subtree_check,no_root_squash,mountpoint=", exports[1].line())
        session.expect("sudo", "give-folder", "/v/a", "nobody:nogroup", "0777")
        session.expect("sudo", "give-folder", "/v/a/pv1", "nobody:nogroup", "0777")
        session.expect("sudo", "mkdir", "--parents", "/v/ab")
        session.expect("sudo", "mkdir", "--parents", "/v/b", status=1)
        with self.assertRaises(MgmtDriverError):
            nfs.serve(host, exports, ["/v/a/pv1", "/v/ab"])
        session.assert_done()

    def test_a_whole_file_system_needs_no_check_of_subtrees(self) -> None:
        line = nfs.Export("/v", "10.0.0.0/24", "/v").line()
        self.assertIn("/v 10.0.0.0/24(rw,sync,no_subtree_check,root_squash,", line)

class VolumesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.host, self.session = fake_host()
        self.addCleanup(self.session.assert_done)

    def get(self, *items: dict[str, Any]) -> None:
        self.session.expect("sudo", "kubectl", stdout=json.dumps({"items": items}))

    def test_a_volume_of_somebody_else_is_never_touched(self) -> None:
        theirs = _volume("pv1", server="192.0.2.9", labels={})
        self.get(theirs)
        with self.assertRaisesRegex(MgmtDriverError, "by these names: pv1"):
            volumes.find_missing(self.host, [_volume("pv1")])
        self.get(theirs)
        self.assertEqual([], volumes.find_removable(self.host, ["pv1"]))

    def test_what_is_missing(self) -> None:
        self.get(_volume("pv1"), _volume("pv2", server="192.0.2.9"))
        wanted = [_volume("pv1"), _volume("pv2"), _volume("pv3")]
        found = volumes.find_missing(self.host, wanted)
        self.assertEqual(["pv2", "pv3"], [volume["metadata"]["name"] for volume in found])

    def test_a_volume_at_another_address_is_replaced(self) -> None:
        self.get(_volume("pv1", server="192.0.2.9"))
        self.get()  # claims
        self.get()  # pods
        self.session.expect("sudo", "kubectl")  # deleted
        self.session.expect("sudo", "kubectl")  # applied
        self.get(_volume("pv1"))
        volumes.register(self.host, [_volume("pv1")])
        self.assertIn("delete", self.session.ran[3])
        applied = json.loads(self.session.stdin[4])
        self.assertEqual("192.0.2.1", applied["items"][0]["spec"]["nfs"]["server"])

    def test_the_manifest_stays_as_it_is(self) -> None:
        manifest: Any = {"metadata": {"name": "pv1"}, "spec": {"nfs": {"path": "/v"}}}
        placed = volumes.at(manifest, "192.0.2.1")
        self.assertEqual("192.0.2.1", placed["spec"]["nfs"]["server"])
        self.assertNotIn("server", manifest["spec"]["nfs"])

    def test_users_are_named(self) -> None:
        claim = {"metadata": {"namespace": "shop", "name": "data"}, "spec": {"volumeName": "pv2"}}
        pod = {
            "metadata": {"namespace": "shop", "name": "web-1"},
            "spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}, {}]},
        }
        released = _volume("pv3", phase="Released", claim=("shop", "gone"))
        self.free(
            _volume("pv1"), _volume("pv2"), released, claims=[claim],
            pods=[pod, {**pod, "metadata": {"namespace": "other", "name": "web-1"}}],
        )
        self.assertEqual(
            "pv2 is Available, claim: shop/data, pods: shop/web-1; "
            "pv3 is Released, claim: shop/gone, pods: none",
            self.why_in_use("pv1", "pv2", "pv3", "pv4"),
        )

    def test_a_volume_of_somebody_else_on_the_server_holds_it_too(self) -> None:
        bound: dict[str, Any] = {"phase": "Bound", "claim": ("shop", "data"), "labels": {}}
        self.free(_volume("theirs", **bound), _volume("away", server="192.0.2.9", **bound))
        self.assertEqual("theirs is Bound, claim: shop/data, pods: none", self.why_in_use("pv1"))
        # Once it is free, it is a matter of its name.
        self.free(_volume("theirs", labels={}))
        volumes.check_server(self.host, ["pv1"], ["192.0.2.1"])
        self.free(_volume("pv1", labels={}))
        with self.assertRaisesRegex(MgmtDriverError, "by these names: pv1"):
            volumes.check_server(self.host, ["pv1"], ["192.0.2.1"])

    def test_a_volume_held_for_a_claim_is_free_until_the_claim_is_made(self) -> None:
        held = _volume("pv1", claim=("shop", "data"))
        self.free(held)
        volumes.check_server(self.host, ["pv1"], ["192.0.2.1"])
        claim = {"metadata": {"namespace": "shop", "name": "data"}, "spec": {}}
        self.free(held, claims=[claim])
        self.assertEqual("pv1 is Available, claim: shop/data, pods: none", self.why_in_use("pv1"))

    def test_a_pod_with_a_volume_of_its_own_is_named(self) -> None:
        pod = {
            "metadata": {"namespace": "shop", "name": "web"},
            "spec": {"volumes": [{"name": "data", "ephemeral": {"volumeClaimTemplate": {}}}]},
        }
        self.free(_volume("pv1", phase="Bound", claim=("shop", "web-data")), pods=[pod])
        self.assertEqual(
            "pv1 is Bound, claim: shop/web-data, pods: shop/web", self.why_in_use("pv1")
        )

    def why_in_use(self, *own: str) -> str:
        with self.assertRaises(volumes.InUse) as caught:
            volumes.check_server(self.host, own, ["192.0.2.1"])
        return str(caught.exception).removeprefix("[KV-VOLUME] ")

    def free(self, *found: dict[str, Any], claims: Any = (), pods: Any = ()) -> None:
        for items in (found, claims, pods):
            self.get(*items)


def _volume(
    name: str,
    server: str = "192.0.2.1",
    labels: dict[str, str] | None = None,
    phase: str = "Available",
    claim: tuple[str, str] | None = None,
) -> dict[str, Any]:
    ours = {"app.kubernetes.io/managed-by": "tacker-mgmt-drivers"}
    spec: dict[str, Any] = {"nfs": {"server": server, "path": "/v"}}
    if claim:
        spec["claimRef"] = {"namespace": claim[0], "name": claim[1]}
    return {
        "metadata": {"name": name, "labels": ours if labels is None else labels},
        "spec": spec,
        "status": {"phase": phase},
    }


