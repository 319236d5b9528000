"""Settings of a running cluster are changed by modifications."""

import dataclasses
import io
import json
from collections.abc import Sequence
from typing import Any

import paramiko

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.access.service_account import VIM_ACCOUNT, Credentials
from mgmt_drivers.cluster.backup import backup
from mgmt_drivers.cluster.monitoring import monitoring
from mgmt_drivers.cluster.registries.registries import KUBELET_LOGINS
from mgmt_drivers.engine.dry_run import DryRun
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine.proxied import ENVIRONMENT_FILE
from mgmt_drivers.operations import modify, scale_out
from mgmt_drivers.secret import Secret
from mgmt_drivers.setup.configure_proxy import APT_FILE
from mgmt_drivers.ssh.keys import public_half
from mgmt_drivers.testing.fakes import named
from mgmt_drivers.testing.simulated_cloud import MASTERS, PARAMS, SimulatedClusterTest, new_node
from mgmt_drivers.testing.simulated_world import API_CERTIFICATE, HELM, HELM_CONFIG, Machine
from mgmt_drivers.testing.simulation import SimulatedSession
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
    "proxy": {"http_proxy": "http://proxy.example.com:3128"},
    "api_names": ["API.example.com", "192.0.2.7"],
    "etcd_backup": {"folder": "/var/backups/etcd"},
    "monitoring": {},
    **{group: {"private_key": NEW_KEY} for group in GROUPS},
    "renew_vim_token": True,
}


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

    def modify(self, services: Services | None = None, **wanted: Any) -> None:
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
        (secret,) = self.world.accounts
        self.assertNotEqual(VIM_ACCOUNT.secret, secret)
        token = self.world.account_token(secret)
        (vim,) = self.vims.registered.values()
        self.assertEqual(token, vim.credentials.token.reveal())
        for machine in self.machines("master"):
            self.assertIn(token.encode(), machine.files[HELM_CONFIG][0])
        self.assertEqual(ALL["api_names"], changed_params.load(self.store)["api_names"])


def names_of(machine: Machine) -> bytes:
    """The certificate of a machine's apiserver, whose names can be read in it."""
    from cryptography import x509

    found = x509.load_pem_x509_certificate(machine.files[API_CERTIFICATE][0])
    return found.public_bytes(__import__("cryptography").hazmat.primitives.serialization.Encoding.DER)


class ChangesTest(ChangedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def test_all_at_once(self) -> None:
        self.modify(**ALL)
        self.assert_changed()
