"""Settings of a running cluster are changed by modifications."""

import dataclasses
import io
import json
from collections.abc import Sequence
from typing import Any

import paramiko
from cryptography import x509

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.access.service_account import VIM_ACCOUNT, Credentials
from mgmt_drivers.cluster.backup import backup
from mgmt_drivers.cluster.cluster_params import CLUSTER_ADMIN
from mgmt_drivers.cluster.monitoring import monitoring
from mgmt_drivers.cluster.registries.registries import KUBELET_LOGINS
from mgmt_drivers.engine.dry_run import DryRun
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import ConnectionFailed, MgmtDriverError
from mgmt_drivers.machine.proxied import ENVIRONMENT_FILE
from mgmt_drivers.operations import modify, scale_out
from mgmt_drivers.secret import Secret
from mgmt_drivers.setup.configure_proxy import APT_FILE
from mgmt_drivers.ssh.keys import public_half
from mgmt_drivers.testing import made_certificates
from mgmt_drivers.testing.fakes import MemoryStore, named
from mgmt_drivers.testing.simulated_cloud import MASTERS, PARAMS, SimulatedClusterTest, new_node
from mgmt_drivers.testing.simulated_world import API_CERTIFICATE, HELM, HELM_CONFIG, NARROW, Machine
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.tests.test_faults import FaultsTestCase
from mgmt_drivers.vim import Vim

REGISTRIES = "private_registry_connection_info"
GROUPS = ("master_node", "worker_node", "storage_server")
_HOSTS_TOML = "/etc/containerd/certs.d/{}/hosts.toml"


def made_key() -> str:
    stream = io.StringIO()
    paramiko.ECDSAKey.generate().write_private_key(stream)
    return stream.getvalue()


OLD_KEY, NEW_KEY = made_key(), made_key()
ALL: dict[str, Any] = {
    REGISTRIES: [{
        "connection_type": "1", "server": "registry.example.com", "username": "me",
        "password": "N3w",
    }],
    "ca_certificates": "site.crt",
    "proxy": {"http_proxy": "http://proxy.example.com:3128"},
    "api_names": ["API.example.com", "192.0.2.7"],
    "etcd_backup": {"folder": "/var/backups/etcd"},
    "monitoring": {},
    **{group: {"private_key": NEW_KEY} for group in GROUPS},
    "renew_vim_token": True,
}


_, _CA = made_certificates.fixed()
_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"


def half(key: str) -> str:
    return public_half(Secret(key))


class ChangedClusterTest(SimulatedClusterTest):
    """A cluster that is logged in to by key, and that Tacker and Helm use by its token."""

    def setUp(self) -> None:
        super().setUp()
        logins = {group: {**PARAMS[group], "private_key": OLD_KEY} for group in GROUPS}
        self.params = {**PARAMS, **logins}

    def build(self, is_clustered: bool = True) -> None:
        super().build(is_clustered)
        (self.package / "site.crt").write_bytes(_CA)
        token = Secret(self.world.account_token())
        self.vims.register(Vim("vim", "https://api", Credentials(token, "c")))
        for machine in self.world.machines.values():
            machine.packages |= {"helm", "nfs-common"}
            if machine.role == "master":
                machine.files[HELM] = (b"", "755")

    def arrive(self, node: Any, is_member: bool = False) -> Machine:
        machine = super().arrive(node, is_member)
        machine.password, machine.keys = "hidden", {half(OLD_KEY)}
        return machine

    def modify(self, services: Services | None = None, /, **wanted: Any) -> None:
        modify.modify(self.request(), services or self.services(), self.vims, wanted)

    def machines(self, *roles: str) -> list[Machine]:
        roles = roles or ("master", "worker", "storage")
        return [machine for machine in self.world.machines.values() if machine.role in roles]

    def assert_changed(self) -> None:
        """The cluster is as the whole modification wants it."""
        self.assert_whole(3, 2)
        for machine in self.machines():
            self.assertEqual({half(NEW_KEY)}, machine.keys, machine.name)
            self.assertIn(b"proxy.example.com", machine.files[APT_FILE][0])
            self.assertEqual(_CA, machine.files[_BUNDLE][0])
            self.assertLessEqual({*monitoring.UNITS}, machine.services)
        for machine in self.machines("master", "worker"):
            logins = json.loads(machine.files[KUBELET_LOGINS][0])["auths"]
            self.assertEqual(["registry.example.com"], [*logins])
            self.assertNotIn(_HOSTS_TOML.format("10.10.0.2:5000"), machine.files)
        for machine in self.machines("master"):
            self.assertIn(b"api.example.com", names_of(machine))
            self.assertEqual([], machine.outdated("kube-apiserver"))
            self.assertIn(backup.TIMER, machine.services)
        self.assertEqual(["10.10.0.110", "192.0.2.7", "api.example.com"], self.world.api_names)
        self.assertEqual(NARROW, self.world.bindings)
        (secret,) = self.world.accounts
        self.assertNotEqual(VIM_ACCOUNT, secret)
        token = self.world.account_token(secret)
        (vim,) = self.vims.registered.values()
        self.assertEqual(token, vim.credentials.token.reveal())
        for machine in self.machines("master"):
            self.assertIn(token.encode(), machine.files[HELM_CONFIG][0])
        self.assertEqual(ALL["api_names"], changed_params.load(self.store)["api_names"])


def names_of(machine: Machine) -> bytes:
    """The names in the certificate of a machine's apiserver, as they stand in it."""
    found = x509.load_pem_x509_certificate(machine.files[API_CERTIFICATE][0])
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    return names.value.public_bytes()


class ChangesTest(ChangedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def test_all_at_once(self) -> None:
        self.modify(**ALL)
        self.assert_changed()

    def test_again_nothing_restarts(self) -> None:
        """A retry after all is done, whose parameters Tacker has not kept."""
        self.modify(**ALL)
        before = self.store.kept.pop("changed_params")
        ran: list[str] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            ran.extend(word for word in ("restart", "end", "issue-api-certificate") if word in argv)

        self.modify(self.services(note), **ALL)
        self.assertEqual([], ran)
        self.assertEqual(before, self.store.kept["changed_params"])
        self.assert_changed()

    def test_what_is_not_changed_has_no_phase(self) -> None:
        ran: list[tuple[str, ...]] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            ran.append(named(argv))

        self.modify(self.services(note), api_names=["api.example.com"])
        words = {word for words in ran for word in words[:2]}
        foreign = {"write-kubeconfig", "chpasswd", "change-keys", "apply-unit", "digest-files"}
        self.assertEqual(set(), words & foreign)
        self.assertNotIn(APT_FILE, self.machine(MASTERS[0]).files)

    def test_all_off_again(self) -> None:
        self.modify(**ALL)
        keys = ("ca_certificates", "proxy", "api_names", "etcd_backup", "monitoring", REGISTRIES)
        off = dict.fromkeys(keys)
        self.modify(**off)
        for machine in self.machines():
            paths = (APT_FILE, ENVIRONMENT_FILE, _BUNDLE)
            self.assertEqual({b""}, {machine.files[path][0] for path in paths})
            self.assertEqual(set(), machine.services & {*monitoring.UNITS, backup.TIMER})
        for machine in self.machines("master", "worker"):
            self.assertEqual({"auths": {}}, json.loads(machine.files[KUBELET_LOGINS][0]))
            self.assertNotIn(_HOSTS_TOML.format("registry.example.com"), machine.files)
        for machine in self.machines("master"):
            self.assertNotIn(b"example.com", names_of(machine))
        self.assertEqual(["10.10.0.110"], self.world.api_names)

    def test_former_values_undo_a_change_that_failed(self) -> None:
        """Tacker has kept nothing of it, and knows no other values than the former ones."""
        def stop(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "chpasswd" in argv:
                raise MgmtDriverError("it ends here")

        wanted = {**ALL, "worker_node": {"password": "N3w"}}
        with self.assertRaisesRegex(MgmtDriverError, "it ends here"):
            self.modify(self.services(stop), **wanted)
        off = {key: None for key in ("proxy", "etcd_backup", "monitoring")}
        self.modify(**off, **{REGISTRIES: self.params[REGISTRIES]})
        for machine in self.machines():
            self.assertEqual({b""}, {machine.files[p][0] for p in (APT_FILE, ENVIRONMENT_FILE)})
            self.assertEqual(set(), machine.services & {*monitoring.UNITS, backup.TIMER})
        for machine in self.machines("master", "worker"):
            self.assertIn(_HOSTS_TOML.format("10.10.0.2:5000"), machine.files)

    def test_a_login_that_a_registry_refuses_replaces_nothing(self) -> None:
        self.modify(**{REGISTRIES: ALL[REGISTRIES]})
        self.world.registry_password = "N3w"
        before = {m.name: dict(m.files) for m in self.machines()}
        wrong = [{**ALL[REGISTRIES][0], "password": "wr0ng"}]
        with self.assertRaisesRegex(MgmtDriverError, "registry.example.com: 401") as caught:
            self.modify(**{REGISTRIES: wrong})
        self.assertNotIn("wr0ng", str(caught.exception))
        self.assertEqual(before, {m.name: m.files for m in self.machines()})

    def test_nodes_restart_their_runtime_in_turn(self) -> None:
        """A node whose apiserver does not come back keeps the others from the restart."""
        for machine in self.machines("master", "worker"):
            machine.services.add("containerd")
        restarted: list[str] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            if [*argv[:2]] == ["systemctl", "restart"]:
                restarted.append(session.machine.name)
                if len(restarted) == 2:
                    self.world.unhealthy.add(session.machine.name)

        first, second, *_ = (machine.name for machine in self.machines())
        with self.assertRaisesRegex(MgmtDriverError, "verify the control plane"):
            self.modify(self.services(note), proxy=ALL["proxy"])
        self.assertEqual([first, second], restarted)
        self.world.unhealthy.clear()
        self.modify(self.services(note), proxy=ALL["proxy"])
        self.assertEqual([m.name for m in self.machines("master", "worker")], restarted)

    def upgrade_with_other_cas(self, stops_at: str = "") -> tuple[bytes, list[str]]:
        """Returns the CAs that another package has brought, and drains and restarts in order."""
        del self.params["helm"]
        self.params["kubernetes_version"] = "1.36.4"
        self.build()
        self.world.have("v1.36.4")
        nodes = self.machines("master", "worker")
        for machine in nodes:
            machine.services.add("containerd")
        self.modify(ca_certificates="site.crt")
        _, other = made_certificates.key_and_certificate()
        (self.package / "site.crt").write_bytes(other)
        noted: list[str] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            words = [*argv]
            if "drain" in words:
                noted.append(f"drain {words[words.index('drain') + 1]}")
            if words == ["systemctl", "restart", "containerd"]:
                noted.append(f"restart {session.machine.name}")
            if stops_at and stops_at in words:
                raise MgmtDriverError("it ends here")

        self.modify(self.services(note), kubernetes_version="1.37.2")
        return other, noted

    def test_an_upgrade_brings_the_cas_of_another_package(self) -> None:
        """The runtime of each node reads them while the node is drained."""
        other, noted = self.upgrade_with_other_cas()
        nodes = self.machines("master", "worker")
        self.assertEqual({other}, {machine.files[_BUNDLE][0] for machine in nodes})
        wanted = {name: [f"drain {name}", f"restart {name}"] for name in (m.name for m in nodes)}
        for name, steps in wanted.items():
            self.assertEqual(steps, [step for step in noted if step.endswith(name)])

    def test_runtimes_read_the_cas_of_an_upgrade_that_failed(self) -> None:
        """A modification with the same file restarts them: no node has been drained."""
        with self.assertRaisesRegex(MgmtDriverError, "it ends here"):
            self.upgrade_with_other_cas(stops_at="pull")
        restarted: list[str] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            if [*argv] == ["systemctl", "restart", "containerd"]:
                restarted.append(session.machine.name)

        self.modify(self.services(note), ca_certificates="site.crt")
        self.assertEqual([m.name for m in self.machines("master", "worker")], restarted)

    def test_a_file_without_certificates_is_refused(self) -> None:
        (self.package / "site.crt").write_text("nothing")
        with self.assertRaisesRegex(MgmtDriverError, "ca_certificates: must hold one or more"):
            self.modify(ca_certificates="site.crt")
        self.assertEqual(0, self.connections.total())

    def test_the_rights_of_tacker(self) -> None:
        """As narrow as a new cluster's, or all of them, by another binding than the narrow ones."""
        wide = {VIM_ACCOUNT: CLUSTER_ADMIN}
        for role, more in ((None, {}), (CLUSTER_ADMIN, wide), (None, {})):
            self.modify(vim_role=role)
            self.assertEqual({**NARROW, **more}, self.world.bindings)

    def test_a_dry_run_changes_nothing(self) -> None:
        dry_run = DryRun()
        services = dataclasses.replace(self.services(), dry_run=dry_run, store=MemoryStore())
        before = {m.name: (dict(m.files), {*m.keys}, {*m.services}) for m in self.machines()}
        self.modify(services, **ALL)
        self.assertEqual(before, {m.name: (m.files, m.keys, m.services) for m in self.machines()})
        self.assertEqual({VIM_ACCOUNT}, self.world.accounts)
        told = {line.phase for line in dry_run.lines if line.prediction.outcome == "changed"}
        self.assertLessEqual({"configure the proxy", "configure registries", "change the login",
                              "issue the apiserver's certificate", "make a token for Tacker",
                              "configure monitoring", "make the key for backups"}, told)


class LoginsTest(ChangedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def test_passwords_in_place_of_keys(self) -> None:
        logins = {group: {"private_key": None, "password": "N3w"} for group in GROUPS}
        self.modify(**logins)
        for machine in self.machines():
            self.assertEqual(("N3w", set()), (machine.password, machine.keys))

    def test_a_login_that_sshd_refuses(self) -> None:
        """The former login stays, and so do the parameters."""
        for machine in self.machines("master"):
            machine.refuses = half(NEW_KEY)
        with self.assertRaisesRegex(MgmtDriverError, "refuses the new login of ubuntu"):
            self.modify(master_node={"private_key": NEW_KEY})
        for machine in self.machines("master"):
            self.assertIn(half(OLD_KEY), machine.keys)
        self.assertEqual({}, changed_params.load(self.store))

    def fail_and_heal(self, worker: Machine, logins: dict[str, Any]) -> None:
        """A worker dies during the change; Tacker knows the former login alone, and heals it."""

        def die(session: SimulatedSession, argv: Sequence[str]) -> None:
            if session.machine is worker and {"chpasswd", "change-keys"} & {*argv}:
                worker.alive = False
                raise ConnectionFailed("it died")

        with self.assertRaisesRegex(MgmtDriverError, "it died"):
            self.modify(self.services(die), **logins)
        target = worker.node.vnfc_id
        self.heal_start(self.request(target), self.services())
        self.replaced(worker.node)
        self.heal_end(self.request(target), self.services())
        self.modify(**logins)

    def test_a_machine_that_dies_during_a_change_of_keys_is_healed(self) -> None:
        worker, *_ = self.machines("worker")
        self.fail_and_heal(worker, {group: {"private_key": NEW_KEY} for group in GROUPS})
        self.assertEqual([{half(NEW_KEY)}] * 6, [machine.keys for machine in self.machines()])

    def use_passwords(self) -> dict[str, Any]:
        """Log in by passwords alone; returns other ones."""
        for group in GROUPS:
            self.params[group].pop("private_key")
        return {group: {"password": "N3w"} for group in GROUPS}

    def test_a_machine_that_dies_during_a_change_of_passwords_is_healed(self) -> None:
        """Also the last one: all others refuse the login that Tacker knows."""
        wanted = self.use_passwords()
        worker, *_ = self.machines("worker")
        *_, last = self.machines("master")
        for machine in (worker, last):
            self.build()
            self.fail_and_heal(self.machine(machine.address), wanted)
            self.assertEqual(["N3w"] * 6, [machine.password for machine in self.machines()])
            self.assertEqual([], changed_params.load_wanted_logins(self.store))

    def test_machines_that_are_all_new_have_no_login_of_a_change_that_failed(self) -> None:
        changed_params.save_wanted_logins(self.store, {"worker_node": {"password": "N3w"}})
        self.heal_start(self.request(), self.services())
        self.replace_all()
        self.heal_end(self.request(), self.services())
        self.assertEqual([], changed_params.load_wanted_logins(self.store))

    def test_passwords_of_a_change_that_failed_are_undone_or_replaced(self) -> None:
        wanted, former = self.use_passwords(), {group: {"password": "hidden"} for group in GROUPS}
        other = {group: {"password": "0ther"} for group in GROUPS}
        *_, last = self.machines("master")

        def stop(session: SimulatedSession, argv: Sequence[str]) -> None:
            if session.machine is last and "chpasswd" in argv:
                raise MgmtDriverError("it ends here")

        for final in (former, other):
            for each in (wanted, other):
                with self.assertRaisesRegex(MgmtDriverError, "it ends here"):
                    self.modify(self.services(stop), **each)
            self.modify(monitoring=None)  # names no login: the one that Tacker knows comes back
            self.assertEqual({"hidden"}, {machine.password for machine in self.machines()})
            with self.assertRaisesRegex(MgmtDriverError, "it ends here"):
                self.modify(self.services(stop), **wanted)
            self.modify(automatic_heal={"share": 25})  # asks no machine but the leader
            self.modify(**final)
            self.assertEqual(
                {final["master_node"]["password"]}, {m.password for m in self.machines()}
            )

    def test_machines_that_come_get_the_new_login(self) -> None:
        """Heat gives them the login of the instantiate request."""
        self.modify(**{group: {"private_key": NEW_KEY, "password": "N3w"} for group in GROUPS})
        self.modify(ca_certificates="site.crt")
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(worker.node.vnfc_id), self.services(), self.vims)
        self.assertEqual(("N3w", {half(NEW_KEY)}), (worker.password, worker.keys))
        self.assertEqual(_CA, worker.files[_BUNDLE][0])
        self.assert_whole(3, 3)

    def test_tacker_learns_the_password_for_helm(self) -> None:
        self.modify(master_node={"password": "N3w"}, worker_node={"private_key": NEW_KEY})
        (access,) = self.vims.moved
        self.assertEqual("N3w", access.login.password and access.login.password.reveal())

    def test_the_password_for_helm_stays(self) -> None:
        with self.assertRaisesRegex(MgmtDriverError, r"master_node\.password: must stay"):
            self.modify(master_node={"private_key": NEW_KEY, "password": None})
        self.assertEqual(0, self.connections.total())

    def test_another_user_is_refused(self) -> None:
        with self.assertRaisesRegex(MgmtDriverError, r"master_node\.username: cannot be changed"):
            self.modify(master_node={"username": "root"})
        self.assertEqual(0, self.connections.total())


class ChangesFaultsTest(FaultsTestCase, ChangedClusterTest):
    def test_a_modification_of_all_settings(self) -> None:
        """After each fault a retry ends well; all the time Tacker has a token that is valid."""

        def story(number: int, fault: str) -> bool:
            def change(services: Services) -> None:
                try:
                    self.modify(services, **ALL)
                finally:
                    (vim,) = self.vims.registered.values()
                    valid = map(self.world.account_token, self.world.accounts)
                    self.assertIn(vim.credentials.token.reveal(), valid)

            struck = self.cured(change, number, fault)
            self.assert_changed()
            return struck

        self.assertGreater(self.all_faults(story), 500)
