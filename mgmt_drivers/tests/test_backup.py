"""Backups of a simulated cluster's etcd, and clusters that are made of them."""

import copy
import dataclasses
import logging
from collections.abc import Sequence
from typing import Any
from unittest import mock

import yaml

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.backup import backup, backup_keys
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import (
    CommandFailed,
    ConnectionFailed,
    MgmtDriverError,
    OperationError,
    ParameterError,
)
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.operations import instantiate, scale_out
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.secret import Masker
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.ssh.hostkeys import HostKeys
from mgmt_drivers.testing.fakes import named
from mgmt_drivers.testing.made_keys import SigningKey
from mgmt_drivers.testing.simulated_backup import archive_of, seal
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    NOT_NEW,
    PARAMS,
    STORAGE,
    WORKERS,
    SimulatedClusterTest,
    new_node,
)
from mgmt_drivers.testing.simulated_world import ACCOUNT_TOKEN, NARROW, Saved
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.tests.test_canary import all_logs
from mgmt_drivers.tests.test_faults import FaultsTestCase

_TIMER = f"/etc/systemd/system/{backup.TIMER}"
_KEYS = f"{STATE_FOLDER}/etcd-backup-account/.ssh/authorized_keys"
_CONF = f"{STATE_FOLDER}/etcd-backup.conf"
_COPY = f"{STATE_FOLDER}/restore.tar.gz"
_LATEST = "latest"
_NONE = "etcd-20260101T000000Z-v1.20.2-0a1b2c3d-master-0123456789ab.tar"
_CLAIM = {
    "metadata": {"namespace": "default", "name": "data", "uid": "u-data"},
    "spec": {"volumeName": "pv1"},
}


def unsigned(saved: Saved) -> Saved:
    manifest, _, *rest = saved.shown.split("\n")
    return dataclasses.replace(saved, shown="\n".join([manifest, "", *rest]))


class BackedUpClusterTest(SimulatedClusterTest):
    """A cluster of earlier drivers, whose storage server keeps its backups beside exports."""

    operation = NOT_NEW
    place: dict[str, Any] = {"interval": "1h", "keep": 3}

    def setUp(self) -> None:
        super().setUp()
        self.params = {**PARAMS, "etcd_backup": self.place}

    def masters(self) -> list[str]:
        return [m.address for m in self.world.machines.values() if m.role == "master"]

    def authorized(self) -> list[str]:
        """Names of the nodes that the storage server lets in."""
        text = self.machine(STORAGE).files[_KEYS][0].decode()
        return sorted(line.split()[-1] for line in text.splitlines())

    def names(self, role: str) -> list[str]:
        return sorted(m.name for m in self.world.machines.values() if m.role == role)

    def whole(self, restore_from: Any = _LATEST, **changes: Any) -> LcmRequest:
        """A request to heal the whole VNF, and to restore a backup."""
        return dataclasses.replace(self.request(), restore_from=restore_from, **changes)

    def instantiated(self) -> None:
        """A cluster, and a backup of it."""
        self.build(is_clustered=False)
        self.instantiate(self.services())
        self.stock()

    def stock(self) -> None:
        """Let the cluster have one backup, with a label and a claim in it."""
        self.world.backups.clear()
        (worker, _) = self.names("worker")
        self.world.nodes[worker]["metadata"]["labels"]["rack"] = "r7"
        self.world.claimed, self.world.claims = True, [copy.deepcopy(_CLAIM)]
        keys, node = backup_keys.load(self.store), self.names("master")[0]
        self.name = f"etcd-19691231T100000Z-{self.world.release}-{keys.current.id}-{node}.tar"
        self.world.backups[self.name] = self.saved()

    def saved(self) -> Saved:
        """A backup of now, by the first control-plane node."""
        keys, node = backup_keys.load(self.store), self.names("master")[0]
        return seal(self.world.saved(), node, keys.current.id, keys.current.public)

    def assert_restored(self) -> None:
        """The old cluster's objects are there, and its nodes are not."""
        self.assert_whole(3, 2)
        self.assertEqual(([_CLAIM], {"pv1"}), (self.world.claims, set(self.world.volumes)))
        self.assertEqual({"tacker-vim"}, self.world.accounts)
        self.assertEqual(NARROW, self.world.bindings)
        (vim,) = self.vims.registered.values()
        self.assertNotEqual(ACCOUNT_TOKEN, vim.credentials.token.reveal())  # which backups hold
        self.assertEqual(self.world.account_token(), vim.credentials.token.reveal())
        racks = [n["metadata"]["labels"].get("rack") for n in self.world.nodes.values()]
        self.assertEqual(1, racks.count("r7"))
        self.assertEqual({"kubernetes_vim_vnf-1"}, set(self.vims.registered))
        self.assertFalse([m for m in self.world.machines.values() if _COPY in m.files])


class BackupTest(BackedUpClusterTest):
    def test_a_new_cluster_is_backed_up(self) -> None:
        self.build(is_clustered=False)
        with all_logs() as log:
            logging.disable(logging.NOTSET)
            self.instantiate(self.services())
        (name,) = self.world.backups
        leader = self.machine(MASTERS[0])
        self.assertTrue(name.endswith(f"-{leader.name}.tar"))
        self.assertIn(f"the last good backup of etcd is of 1970-01-01T00:00:00+00:00: {name}",
                      log.getvalue())
        self.assertEqual(self.names("master"), self.authorized())
        for address in MASTERS:
            machine = self.machine(address)
            self.assertIn(backup.TIMER, machine.services)
            self.assertIn(b"OnUnitActiveSec=900\n", machine.files[_TIMER][0])
            self.assertEqual("600", machine.files[_CONF][1])
        for address in WORKERS:
            self.assertNotIn(_CONF, self.machine(address).files)

    def test_keys_are_for_one_program_only(self) -> None:
        self.instantiated()
        leader = self.machine(MASTERS[0])
        line = self.machine(STORAGE).files[_KEYS][0].decode().splitlines()[0]
        program = f"bash {STATE_FOLDER}/backup-store.sh /volume/etcd-backup {leader.name} 3"
        key = SigningKey(leader.name).public
        self.assertEqual(f'restrict,command="{program}" {key} {leader.name}', line)

    def test_a_master_that_is_healed_is_let_in(self) -> None:
        self.instantiated()
        target = self.machine(MASTERS[0]).node
        self.heal_start(self.request(target.vnfc_id), self.services())
        new = self.replaced(target)
        self.heal_end(self.request(target.vnfc_id), self.services())
        self.assert_whole(3, 2)
        self.assertEqual(self.names("master"), self.authorized())
        self.assertIn(backup.TIMER, self.world.machines[new.server_id].services)

    def test_a_master_is_healed_without_the_storage_server(self) -> None:
        self.instantiated()
        self.machine(STORAGE).alive = False
        target = self.machine(MASTERS[0]).node
        self.heal_start(self.request(target.vnfc_id), self.services())
        self.replaced(target)
        with all_logs() as log:
            logging.disable(logging.NOTSET)
            self.heal_end(self.request(target.vnfc_id), self.services())
        self.assert_whole(3, 2)
        self.assertIn("the storage server does not answer: control-plane nodes", log.getvalue())

    def test_masters_know_a_storage_server_that_is_healed(self) -> None:
        self.instantiated()
        self.world.claimed, self.world.claims = False, []
        target = self.machine(STORAGE).node
        self.heal_start(self.request(target.vnfc_id), self.services())
        self.replaced(target)
        self.heal_end(self.request(target.vnfc_id), self.services())
        for address in MASTERS:
            machine = self.machine(address)
            endpoint = Endpoint(address, "ubuntu", None, machine.node.server_id)
            session = self.services().connect(endpoint, HostKeys(), Masker(()), 0)
            seen = session.run(["bash", f"{STATE_FOLDER}/etcd-backup.sh", "list"], sudo=True)
            self.assertIn(self.name, seen.stdout)

    def test_a_storage_server_that_is_healed_gets_a_backup_unless_one_is_young(self) -> None:
        for time, count in (("19691231T225900Z", 2), ("19691231T230100Z", 1)):  # of one hour
            self.build(is_clustered=False)
            self.instantiated()
            saved = self.world.backups.pop(self.name)
            self.world.backups[self.name.replace("19691231T100000Z", time)] = saved
            self.world.claimed, self.world.claims = False, []
            target = self.machine(STORAGE).node
            self.heal_start(self.request(target.vnfc_id), self.services())
            self.replaced(target)
            self.heal_end(self.request(target.vnfc_id), self.services())
            self.assertEqual(count, len(self.world.backups), time)

    def test_workers_change_nothing_of_it(self) -> None:
        self.instantiated()
        before = copy.deepcopy(self.machine(STORAGE).files)
        new = self.arrive(new_node("worker", 20, "10.10.0.20"))
        with all_logs() as log:
            logging.disable(logging.NOTSET)
            scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        self.assertEqual(before, self.machine(STORAGE).files)
        self.assertIn(f"the last good backup of etcd is of 1969-12-31T10:00:00+00:00: {self.name}",
                      log.getvalue())

    def test_an_operation_goes_on_without_knowing_the_last_backup(self) -> None:
        self.instantiated()
        self.machine(STORAGE).alive = False
        new = self.arrive(new_node("worker", 20, "10.10.0.20"))
        with all_logs() as log:
            logging.disable(logging.NOTSET)
            scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        self.assertIn("the last good backup of etcd is not known", log.getvalue())
        self.assertIn(new.name, self.world.nodes)

    def test_a_new_cluster_that_cannot_be_backed_up_fails(self) -> None:
        self.build(is_clustered=False)

        def full(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "save" in argv:
                raise ConnectionFailed("no space left on device")

        with self.assertRaisesRegex(MgmtDriverError, "save the first backup.*no space left"):
            self.instantiate(self.services(full))
        self.assertEqual({}, self.vims.registered)
        self.instantiate(self.services())
        self.assertEqual(1, len(self.world.backups))


class LocalBackupTest(BackedUpClusterTest):
    place = {"folder": "/var/backups/etcd"}

    def test_each_master_has_its_own_folder(self) -> None:
        self.build(is_clustered=False)
        self.instantiate(self.services())
        self.assertNotIn(_KEYS, self.machine(STORAGE).files)
        self.assertEqual([1, 0, 0], [len(self.machine(a).backups) for a in MASTERS])
        self.assertIn(b'FOLDER="/var/backups/etcd"\n', self.machine(MASTERS[1]).files[_CONF][0])

    def test_what_goes_with_the_masters_is_not_restored(self) -> None:
        self.build(is_clustered=False)
        self.instantiate(self.services())
        self.connections.clear()
        with self.assertRaisesRegex(
            ParameterError, r"additionalParams\.restore_from: .*/var/backups/etcd on the masters"
        ):
            self.heal_start(self.whole(), self.services())
        self.assertEqual(0, self.connections.total())
        self.assertTrue(self.vims.registered)


class RestoreTest(BackedUpClusterTest):
    def heal(self, restore_from: str = _LATEST) -> None:
        self.heal_start(self.whole(restore_from), self.services())
        self.replace_all()
        self.heal_end(self.whole(restore_from), self.services())

    def test_heal_of_the_whole(self) -> None:
        self.instantiated()
        token = self.vims.registered["kubernetes_vim_vnf-1"].credentials.token.reveal()
        self.heal()
        self.assert_restored()
        self.assertEqual(1, self.world.restored)
        vim = self.vims.registered["kubernetes_vim_vnf-1"]
        self.assertNotEqual(token, vim.credentials.token.reveal())
        self.assertEqual(2, len(self.world.backups))
        self.assertEqual({}, self.metadata())

    def test_pods_of_the_old_nodes_are_waited_for_by_nobody(self) -> None:
        self.instantiated()
        old = {f"spec.nodeName={name}" for name in self.world.nodes}
        seen: set[str] = set()

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            if argv[0] == "kubectl" and {"delete", "--force", "--all-namespaces"} <= {*argv}:
                self.assertFalse({name.partition("=")[2] for name in old} & {*self.world.nodes})
                seen.update(old & {*argv})

        self.heal_start(self.whole(), self.services())
        self.replace_all()
        self.heal_end(self.whole(), self.services(note))
        self.assertEqual(old, seen)

    def test_every_machine_is_dead(self) -> None:
        self.instantiated()
        for machine in self.world.machines.values():
            machine.alive = False
        self.heal()
        self.assert_restored()

    def test_a_backup_from_after_an_upgrade_that_failed(self) -> None:
        """Tacker knows nothing of the upgrade; the newest backup is of the next series."""
        for storage_lives in (True, False):
            self.build(is_clustered=False)
            self.world.newest["1.21"] = "1.21.5"
            self.instantiated()
            held = self.world.backups.pop(self.name)
            self.world.release = "v1.21.5"
            told = {**held.told, "release": "v1.21.5"}
            node, key = self.name.split("-", 4)[4].removesuffix(".tar"), self.name.split("-")[3]
            public = backup_keys.load(self.store).current.public
            later = self.name.replace("v1.20.2", "v1.21.5")
            self.world.backups[later] = seal(Saved(told, held.held), node, key, public)
            self.machine(STORAGE).alive = storage_lives
            self.heal_start(self.whole(), self.services())
            self.replace_all()
            if not storage_lives:
                with self.assertRaisesRegex(MgmtDriverError, "v1.21.5, .* retry the operation"):
                    self.heal_end(self.whole(), self.services())
            self.heal_end(self.whole(), self.services())
            self.assert_restored()
            nodes = [m for m in self.world.machines.values() if m.role != "storage"]
            self.assertEqual({"v1.21.5"}, {m.running for m in nodes} | {self.world.release})

    def test_the_copy_of_a_restore_that_was_killed(self) -> None:
        self.instantiated()
        leader = self.machine(MASTERS[0])
        leader.files[_COPY] = (b"the cluster's secrets", "600")
        new = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        self.assertNotIn(_COPY, leader.files)

    def test_an_older_backup(self) -> None:
        self.instantiated()
        later = self.name.replace("31T10", "31T11")
        self.world.claims = []
        self.world.backups[later] = self.saved()
        self.heal(self.name)
        self.assert_restored()

    def test_without_it_the_cluster_is_empty(self) -> None:
        self.instantiated()
        self.heal_start(self.request(), self.services())
        self.replace_all()
        self.heal_end(self.request(), self.services())
        self.assert_whole(3, 2)
        self.assertEqual((0, []), (self.world.restored, self.world.claims))

    def test_what_is_refused_changes_nothing(self) -> None:
        self.instantiated()
        keys, node = backup_keys.load(self.store).current, self.names("master")[0]
        other = self.name.replace(self.world.release, "v1.22.0")
        (self.package / "backup").write_bytes(b"no archive")
        for wanted, changes, words in (
            (_NONE, {}, f"there is no backup {_NONE}"),
            ("../../etc/passwd", {}, "lies outside the VNF package"),
            ("Files/none", {}, "the VNF package has no file Files/none"),
            ("./backup", {}, "backup is not a whole backup: ReadError"),
            ("newest", {}, "must be latest, the name of a backup, or the path"),
            (7, {}, "must be a string"),
            ("", {}, "must be a string"),
            ("latest", {"keeps_volumes": False}, "which this heal replaces"),
            (other, {}, "it is from Kubernetes v1.22.0, and the cluster is to have 1.20.2"),
            ("latest", {"targets": frozenset(self.ids(WORKERS[0]))}, "only the heal of the whole"),
        ):
            with self.subTest(wanted):
                told = {**self.world.backups[self.name].told, "release": "v1.22.0"}
                self.world.backups[other] = seal(Saved(told, None), node, keys.id, keys.public)
                with self.assertRaisesRegex(ParameterError, words) as caught:
                    self.heal_start(self.whole(wanted, **changes), self.services())
                self.assertIn("additionalParams.restore_from: ", str(caught.exception))
                self.assertTrue(self.vims.registered)

    def test_latest_is_of_this_cluster_and_not_of_the_future(self) -> None:
        self.instantiated()
        held = self.world.backups[self.name]
        keys = backup_keys.load(self.store)
        for name in (
            self.name.replace("19691231", "20991231"),
            self.name.replace(keys.current.id, "00000000").replace("T10", "T11"),
            "etcd-99999999T999999Z-v1.20.2-0a1b2c3d-master-0123456789ab.tar",
            "etcd-19691231T110000Z-v1-x.tar",
        ):
            self.world.backups[name] = dataclasses.replace(held, held=None)
        with all_logs() as log:
            logging.disable(logging.NOTSET)
            self.heal()
        self.assert_restored()
        self.assertIn(f"newer than {self.name}, but of another cluster or of the future",
                      log.getvalue())
        self.assertIn("2 files among the backups have other names", log.getvalue())

    def test_odd_names_fail_no_operation(self) -> None:
        self.instantiated()
        for name in ("etcd-99999999T999999Z-v1.20.2-0a1b2c3d-master-0123456789ab.tar", "x\x1b[2J"):
            self.world.backups[name] = self.world.saved()
        new = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        self.assertIn(new.name, self.world.nodes)

    def test_a_forged_newest_backup_is_refused_before_anything_changes(self) -> None:
        self.instantiated()
        keys = backup_keys.load(self.store)
        newest = self.name.replace("T10", "T11")
        stranger = "master-00000000dead"
        forged = seal(self.world.saved(), stranger, keys.current.id, keys.current.public)
        other = self.names("master")[1]
        renamed = seal(self.world.saved(), other, keys.current.id, keys.current.public)
        for saved, words in (
            (forged, "signed by a node that the VNF has never had"),
            (renamed, f"was saved by node {other} for the key pair .*: somebody renamed it"),
            (unsigned(renamed), f"the backup's signature is not one of node {other}"),
        ):
            self.world.backups[newest] = saved
            with self.subTest(words), self.assertRaisesRegex(ParameterError, words):
                self.heal_start(self.whole(newest), self.services())
            self.assertTrue(self.vims.registered)
        self.world.backups[newest] = forged
        self.heal(self.name)
        self.assert_restored()

    def test_latest_leaves_out_what_cannot_be_verified(self) -> None:
        """Also if the storage server was dead before the heal, and if a file cannot be read."""
        for storage_lives in (True, False):
            self.build(is_clustered=False)
            self.instantiated()
            keys = backup_keys.load(self.store).current
            node = self.names("master")[0]
            good = seal(self.world.saved(), node, keys.id, keys.public)
            lines = good.shown.split("\n")
            changed = "\n".join([*lines[:3], "0" * 64, ""])
            other = {**good.told, "release": "a release"}
            odd = seal(Saved(other, None), node, keys.id, keys.public)
            alarm = {**good.told, "alarms": "memberID:7 alarm:CORRUPT "}
            corrupt = seal(Saved(alarm, None), node, keys.id, keys.public)
            newer = [self.name.replace("T10", f"T1{hour}") for hour in (1, 2, 3, 4)]
            broken = (dataclasses.replace(good, shown=changed), odd, unsigned(good), corrupt)
            self.world.backups.update(zip(newer, broken, strict=True))
            self.machine(STORAGE).alive = storage_lives
            with all_logs() as log:
                logging.disable(logging.NOTSET)
                self.heal()
            self.assert_restored()
            text = log.getvalue()
            self.assertIn(f"{self.name} is the backup to restore, since newer ones", text)
            self.assertIn(f"{newer[0]}: [KV-BACKUP] the backup was changed after node {node}", text)
            self.assertIn(f"{newer[1]}: [KV-BACKUP] the backup's manifest cannot be read", text)
            self.assertIn(f"{newer[2]}: [KV-BACKUP] the backup's signature is not one of", text)
            self.assertIn(f"{newer[3]}: [KV-BACKUP] etcd had the alarm CORRUPT", text)

    def test_no_backup_can_be_verified(self) -> None:
        self.instantiated()
        self.world.backups[self.name] = unsigned(self.saved())
        words = "no new backup of this cluster can be relied on: etcd-.*: the backup's signature is"
        with self.assertRaisesRegex(ParameterError, words):
            self.heal_start(self.whole(), self.services())
        self.assertTrue(self.vims.registered)

    def test_a_server_that_cannot_be_reached_is_no_damaged_backup(self) -> None:
        for status, is_restored in ((1, True), (255, False), (137, False)):
            self.build(is_clustered=False)
            self.instantiated()
            newest = self.name.replace("T10", "T11")
            self.world.backups[newest] = self.world.backups[self.name]
            self.machine(STORAGE).alive = False
            self.heal_start(self.whole(), self.services())
            self.replace_all()

            def unread(
                session: SimulatedSession, argv: Sequence[str], status: int = status,
                newest: str = newest,
            ) -> None:
                if newest in argv:
                    raise CommandFailed("read", status, "no")

            if is_restored:
                self.heal_end(self.whole(), self.services(unread))
                self.assert_restored()
                continue
            with self.assertRaisesRegex(OperationError, f"`read` ended with status {status}"):
                self.heal_end(self.whole(), self.services(unread))

    def test_a_heal_that_is_refused_keeps_no_series(self) -> None:
        """Of a backup of the next series, which a lock or the next error refuses."""
        self.instantiated()
        self.world.newest["1.21"] = "1.21.5"
        held = self.world.backups.pop(self.name)
        told = {**held.told, "release": "v1.21.5"}
        node, keys = self.names("master")[0], backup_keys.load(self.store).current
        later = self.name.replace("v1.20.2", "v1.21.5")
        sealed = seal(Saved(told, held.held), node, keys.id, keys.public)
        self.world.backups[later] = sealed
        (self.package / "backup.tar").write_bytes(archive_of(sealed))
        before = dict(self.store.kept)

        def refuse() -> None:
            raise MgmtDriverError("the VIM is in use")

        with mock.patch.object(self.vims, "unregister", refuse):
            for wanted in (_LATEST, "./backup.tar"):
                with self.assertRaisesRegex(MgmtDriverError, "the VIM is in use"):
                    self.heal_start(self.whole(wanted), self.services())
        self.assertEqual(before, self.store.kept)

    def test_a_new_cluster_has_a_new_key_pair(self) -> None:
        self.instantiated()
        before = backup_keys.load(self.store).current.id
        self.heal_start(self.request(), self.services())
        self.replace_all()

        def refused(session: SimulatedSession, argv: Sequence[str]) -> None:
            if named(argv)[0] == "run-kubeadm":
                raise ConnectionFailed("cut off")

        for _ in range(4):  # attempts give up no key pair
            with self.assertRaises(MgmtDriverError):
                self.heal_end(self.request(), self.services(refused))
        self.heal_end(self.request(), self.services())
        keys = backup_keys.load(self.store)
        self.assertNotEqual(before, keys.current.id)
        self.assertEqual({before, keys.current.id}, set(keys.pairs))
        self.assertEqual(self.name, min(self.world.backups))
        self.heal(self.name)  # the old cluster's
        self.assertEqual((1, [_CLAIM]), (self.world.restored, self.world.claims))

    def test_a_key_pair_that_tacker_has_lost_is_replaced(self) -> None:
        """Tacker's v2 API saves the instance only if the operation ends well."""
        self.instantiated()
        kept = self.store.kept[backup_keys.STORE_KEY]
        self.heal_start(self.request(), self.services())
        self.replace_all()

        def broken(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "save" in argv:
                raise ConnectionFailed("cut off")

        with self.assertRaises(MgmtDriverError):
            self.heal_end(self.request(), self.services(broken))
        lost = backup_keys.load(self.store).current.id
        self.store.kept[backup_keys.STORE_KEY] = kept
        self.heal_end(self.request(), self.services())
        keys = backup_keys.load(self.store)
        self.assertNotIn(keys.current.id, (lost, backup_keys.parse(kept).current.id))
        self.assertTrue(any(f"-{keys.current.id}-" in name for name in self.world.backups))

    def test_keys_that_somebody_has_changed(self) -> None:
        self.instantiated()
        good = self.store.kept[backup_keys.STORE_KEY]
        signer = self.names("master")[0]
        line = f"{SigningKey(signer).public}\\nssh-ed25519 AAAA"
        for text in ("[]", "{}", '{"pairs": [{}], "signers": {}}', '{"pairs": [], "signers": 7}',
                     f'{{"pairs": [], "signers": {{"{signer}": "{line}"}}}}'):
            self.store.kept[backup_keys.STORE_KEY] = text
            with self.subTest(text), self.assertRaisesRegex(MgmtDriverError, "are damaged"):
                self.heal_start(self.whole(), self.services())
        self.store.kept[backup_keys.STORE_KEY] = good

    def test_other_networks_are_refused(self) -> None:
        self.instantiated()
        master = {**self.params["master_node"], "pod_cidr": "172.16.0.0/16"}
        self.params = {**self.params, "master_node": master}
        with self.assertRaisesRegex(ParameterError, "had the pod_cidr 192.168.0.0/16, and this"):
            self.heal_start(self.whole(), self.services())

    def test_what_nobody_could_look_for_is_refused_before_kubeadm(self) -> None:
        """The storage server did not answer before Heat replaced it."""
        self.instantiated()
        self.machine(STORAGE).alive = False
        self.heal_start(self.whole(), self.services())
        self.replace_all()
        self.world.backups.clear()
        with self.assertRaisesRegex(MgmtDriverError, "there is no backup latest"):
            self.heal_end(self.whole(), self.services())
        self.assertFalse([m for m in self.world.machines.values() if m.markers])

    def test_a_new_storage_server_of_an_attempt_before(self) -> None:
        """Tacker's v2 API begins a retry with the first hook."""
        self.instantiated()
        self.heal_start(self.whole(), self.services())
        self.replace_all()
        self.heal_start(self.whole(), self.services())
        self.replace_all()
        self.heal_end(self.whole(), self.services())
        self.assert_restored()

    def test_a_cluster_that_lives_is_not_restored_again(self) -> None:
        self.instantiated()
        self.heal_start(self.whole(), self.services())
        self.replace_all()

        def broken(session: SimulatedSession, argv: Sequence[str]) -> None:
            if named(argv)[0] == "run-kubeadm" and "join" in argv:
                raise ConnectionFailed("cut off")

        with self.assertRaises(MgmtDriverError):
            self.heal_end(self.whole(), self.services(broken))
        self.world.claims.append({"metadata": {"namespace": "n", "name": "new", "uid": "u"},
                                  "spec": {}})
        self.heal_end(self.whole(), self.services())
        self.assertEqual((1, 2), (self.world.restored, len(self.world.claims)))

    def test_volumes_at_another_address_are_bound_again(self) -> None:
        self.instantiated()
        self.world.backups[self.name].held[1]["pv1"]["spec"]["nfs"]["server"] = "10.10.0.250"
        self.heal()
        spec = self.world.volumes["pv1"]["spec"]
        self.assertEqual(STORAGE, spec["nfs"]["server"])
        self.assertEqual(("data", "u-data"), (spec["claimRef"]["name"], spec["claimRef"]["uid"]))

    def test_objects_of_add_ons_at_another_address_are_made_anew(self) -> None:
        """The API refuses to change them; the volume stays its claim's."""
        text = yaml.safe_dump_all([
            {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
             "metadata": {"name": "nfs"}, "provisioner": "nfs.csi.k8s.io",
             "parameters": {"server": "@NFS_SERVER@"}},
            {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "own"},
             "spec": {"nfs": {"server": "@NFS_SERVER@", "path": "/a"}}},
        ])
        (self.package / "nfs.yaml").write_text(text)
        addons = [{"name": "nfs", "manifest_path": "nfs.yaml"}]
        self.params = {**self.params, "addons": addons}
        self.instantiated()
        held = self.world.backups[self.name].held
        held[5]["storageclass.storage.k8s.io/nfs"]["parameters"]["server"] = "10.10.0.250"
        held[5]["persistentvolume/own"]["spec"]["nfs"]["server"] = "10.10.0.250"
        claim = {"metadata": {"namespace": "n", "name": "c", "uid": "u-own"},
                 "spec": {"volumeName": "own"}}
        held[3].append(claim)
        self.heal_start(self.whole(), self.services())
        self.replace_all()

        def broken(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "tacker-mgmt-drivers-claims" in argv:  # after the deletion
                raise ConnectionFailed("cut off")

        with self.assertRaisesRegex(MgmtDriverError, "cut off"):
            self.heal_end(self.whole(), self.services(broken))
        self.heal_end(self.whole(), self.services())
        made = self.world.objects["storageclass.storage.k8s.io/nfs"]
        self.assertEqual(STORAGE, made["parameters"]["server"])
        spec = self.world.objects["persistentvolume/own"]["spec"]
        self.assertEqual((STORAGE, "u-own"), (spec["nfs"]["server"], spec["claimRef"]["uid"]))


class RestoreFileTest(BackedUpClusterTest):
    """Another VNF instance, of a package that has a backup."""

    def setUp(self) -> None:
        super().setUp()
        self.instantiated()
        self.keys = self.store.kept[backup_keys.STORE_KEY]
        self.saved_file = self.world.backups[self.name]
        self.give(archive_of(self.saved_file))
        self.params = {**self.params, "restore_keys": self.keys}

    def give(self, data: bytes) -> None:
        (self.package / "Files/backup.tar").write_bytes(data)
        self.build(is_clustered=False)
        self.replace_all()
        self.world.package[data.decode(errors="replace")] = self.saved_file
        self.params = {**self.params, "restore_from": "Files/backup.tar"}

    def test_instantiation(self) -> None:
        instantiate.validate(self.request(), self.vims)
        self.instantiate(self.services())
        self.assert_whole(3, 2)
        self.assertEqual((1, [_CLAIM]), (self.world.restored, self.world.claims))
        self.assertFalse([m for m in self.world.machines.values() if _COPY in m.files])

    def test_a_heal_of_the_whole_does_not_restore_it_again(self) -> None:
        self.instantiate(self.services())
        self.heal_start(self.request(), self.services())
        self.replace_all()
        self.heal_end(self.request(), self.services())
        self.assertEqual((1, []), (self.world.restored, self.world.claims))

    def test_a_heal_through_v1_restores_a_file(self) -> None:
        self.instantiate(self.services())
        request = self.whole("Files/backup.tar", keeps_volumes=False)
        self.heal_start(request, self.services())
        self.replace_all()
        self.heal_end(request, self.services())
        self.assertEqual((2, [_CLAIM]), (self.world.restored, self.world.claims))

    def test_without_the_keys_of_the_vnf_that_saved_it(self) -> None:
        del self.params["restore_keys"]
        with self.assertRaisesRegex(
            ParameterError, "restore_from: the backup is signed by a node .* give its restore_keys"
        ):
            instantiate.validate(self.request(), self.vims)
        self.params["restore_keys"] = "{}"
        with self.assertRaisesRegex(
            ParameterError, "restore_keys: must be the value of mgmt_driver_etcd_backup_keys"
        ):
            instantiate.validate(self.request(), self.vims)

    def test_another_series_is_refused_before_any_machine_exists(self) -> None:
        self.params = {**self.params, "kubernetes_version": "1.36"}
        with self.assertRaisesRegex(
            ParameterError, r"k8s_cluster_installation_param\.restore_from: it is from .* v1\.20\.2"
        ):
            instantiate.validate(self.request(), self.vims)

    def test_later_operations_do_not_care_for_its_series(self) -> None:
        self.instantiate(self.services())
        changed_params.save(self.store, {"kubernetes_version": "1.36"})
        self.world.have("v1.36.4")
        new = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        self.assertIn(new.name, self.world.nodes)


class RestoreFaultsTest(FaultsTestCase, BackedUpClusterTest):
    """Each command of a restore is struck; a retry then ends right."""

    def build(self, is_clustered: bool = True) -> None:
        super().build(is_clustered)
        backup_keys.make_pair(self.store)
        for name in self.names("master"):
            backup_keys.add_signer(self.store, name, SigningKey(name).public)
        self.stock()

    def test_heal_of_the_whole(self) -> None:
        for when in ("start", "end"):

            def story(number: int, fault: str, when: str = when) -> bool:
                def start(services: Services) -> None:
                    self.heal_start(self.whole(), services)

                def end(services: Services) -> None:
                    self.heal_end(self.whole(), services)

                struck = self.cured(start, number if when == "start" else 0, fault)
                self.replace_all()
                struck |= self.cured(end, number if when == "end" else 0, fault)
                self.assert_restored()
                self.assertEqual(self.names("master"), self.authorized())
                self.assertGreater(len(self.world.backups), 1)
                return struck

            self.assertGreater(self.all_faults(story), 5 if when == "start" else 800)

    def test_heal_of_the_storage_server(self) -> None:
        def story(number: int, fault: str) -> bool:
            self.world.claimed, self.world.claims = False, []
            target = self.machine(STORAGE).node
            self.heal_start(self.request(target.vnfc_id), self.services())
            self.replaced(target)
            request = self.request(target.vnfc_id)
            struck = self.cured(lambda s: self.heal_end(request, s), number, fault)
            self.assert_whole(3, 2)
            self.assertEqual(self.names("master"), self.authorized())
            return struck

        self.assertGreater(self.all_faults(story), 20)
