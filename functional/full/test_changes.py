"""Settings of a running cluster are changed by modifications: its machines and workload stay."""

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import paramiko
from kubernetes.client.exceptions import ApiException

from functional import faults, hardening, kubernetes, shared
from functional.cluster_scenario import MASTER, ClusterScenario
from functional.proxies import PORT, start_proxy
from functional.requests import REQUESTS
from mgmt_drivers.cluster.modification import NAME
from mgmt_drivers.cluster.registries.registries import KUBELET_LOGINS
from mgmt_drivers.errors import ConnectionFailed
from mgmt_drivers.machine.proxied import ENVIRONMENT_FILE
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.ssh.handshake import connect
from mgmt_drivers.ssh.hostkeys import HostKeys
from tools.client import stacks, vim_rights, wait
from tools.client.api import V2
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote

_GROUPS = ("master_node", "worker_node")
_REQUEST = "kubernetes/changes.json"
_ASK_API = "openssl s_client -connect 127.0.0.1:6443 </dev/null 2>&1 | openssl x509 -noout -text"
_ASK_RUNTIME = (
    "sudo cat /proc/$(systemctl show --property MainPID --value containerd)/environ "
    "| tr '\\0' '\\n'"
)
_UNAUTHORIZED = 401


class Changes(ClusterScenario):
    """The login of a registry, a proxy, keys, a name of the API, backups, and Tacker's token."""

    api = V2()
    image = CONFIG.prepared_image

    def test_changes(self) -> None:
        self.registry = shared.private_registry()
        (client,) = self.enter(stacks.machines(self.cloud, ["proxy"], [PORT]))
        self.proxy = start_proxy(client)
        vnf = self.create_vnf(self.onboard_package(shared.outside_registry().files))
        params = self.registry_params(self.registry)
        self.assert_completed(vnf.instantiate(self.request("simple", self.registry, **params)))
        self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        self.check_pulls_from_registries(
            self.cluster, self.registry, self.machines(vnf)[MASTER][0], "containerd"
        )
        servers, first, second = self.servers(vnf), made_key(), made_key()
        self.modify(vnf, **dict.fromkeys(_GROUPS, {"private_key": first}))
        vim_rights.bind_to_all(self.machines(vnf)[MASTER][0])
        self.change_all(vnf, second)
        self.check_machines(vnf, first, second)
        self.check_api(vnf)
        self.check_rights(vnf)
        self.rotate_key(vnf)
        self.assertEqual(servers, self.servers(vnf))
        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.check_logins(vnf, first, second)
        self.check_cnf(vnf)
        self.check_terminate(vnf)

    def servers(self, vnf: Vnf) -> set[str]:
        return {vnfc["computeResource"]["resourceId"] for vnfc in vnf.vnfcs()}

    def modify(self, vnf: Vnf, **wanted: Any) -> dict[str, Any]:
        occurrence = vnf.modify({"metadata": {NAME: wanted}})
        self.assert_completed(occurrence)
        return occurrence

    def change_all(self, vnf: Vnf, key: str) -> None:
        """All at once, with a fault between; the retry goes on."""
        request = json.loads((REQUESTS / _REQUEST).read_text())["metadata"][NAME]
        wanted = {
            **json.loads(request),
            **self.registry_params(self.registry, username=shared.outside_registry().second_user),
            "proxy": {"http_proxy": self.proxy},
            **dict.fromkeys(_GROUPS, {"private_key": key, "password": CONFIG.password}),
        }
        machines = self.machines(vnf)[MASTER]
        faults.prepare(machines[0])
        with faults.injected(machines, "fails", "issue-api-certificate"):
            failed = vnf.modify({"metadata": {NAME: wanted}})
        self.assert_failed(failed, "phase 'issue the apiserver's certificate'")
        self.assert_completed(vnf.retry(failed))

    def check_machines(self, vnf: Vnf, old: str, new: str) -> None:
        outside = shared.outside_registry()
        for machines in self.machines(vnf).values():
            for machine in machines:
                logins = json.loads(machine.run(f"sudo cat {KUBELET_LOGINS}"))
                self.assertEqual(outside.basic(outside.second_user), logins["auths"][outside.name])
                self.assertIn(self.proxy, machine.run(f"sudo cat {ENVIRONMENT_FILE}"))
                shown = machine.run(_ASK_RUNTIME)
                self.assertIn(f"HTTP_PROXY={self.proxy}", shown)
        (master,) = self.machines(vnf)[MASTER]
        self.assertIn("DNS:api.example.com", master.run(_ASK_API))
        saved = master.run("sudo ls /var/backups/etcd").split()
        log(f"backups: {saved}")
        self.assertEqual(1, len(saved))
        self.check_logins(vnf, old, new)

    def check_logins(self, vnf: Vnf, old: str, new: str) -> None:
        """Each machine takes the new key and refuses the old one."""
        for machines in self.machines(vnf).values():
            for machine in machines:
                self.assertTrue(takes(machine, new), machine.address)
                self.assertFalse(takes(machine, old), machine.address)

    def rotate_key(self, vnf: Vnf) -> None:
        """A fault before the old key goes; the retry goes on with the same new key."""
        machines = self.machines(vnf)[MASTER]
        request = json.loads((REQUESTS / "kubernetes/rotation.json").read_text())
        with faults.injected(machines, "cut", "rewrite-objects"):
            failed = vnf.modify(request)
        self.assert_failed(failed, "phase 'encrypt all Secrets again'")
        self.assert_completed(vnf.retry(failed))
        hardening.check_keys(self.cluster, machines, "key2")

    def check_rights(self, vnf: Vnf) -> None:
        """Tacker's account is no administrator, unless the parameter makes it one.

        The renewal of the token has removed the binding of earlier drivers.
        """
        (master,) = self.machines(vnf)[MASTER]
        self.assertTrue(vim_rights.may(master, "create", "deployments"))
        self.assertFalse(vim_rights.may(master, "delete", "nodes"))
        for role in ("cluster-admin", None):
            self.modify(vnf, vim_role=role)
            self.assertEqual(bool(role), vim_rights.may(master, "delete", "nodes"))

    def check_api(self, vnf: Vnf) -> None:
        """The old token is refused, and the new one, which Tacker has, is taken."""
        with step("ask the API with the old and the new token"):
            refused = wait.until(
                lambda: status_of(self.cluster), lambda seen: seen == _UNAUTHORIZED, 60, "401"
            )
            log(f"the old token: {refused}")
            (name,) = json.loads(vnf.show()["metadata"]["mgmt_driver_vim_secrets"])
            folder = Path(self.enter(tempfile.TemporaryDirectory()))
            (master,) = self.machines(vnf)[MASTER]
            url = self.vim(vnf).auth_url
            self.cluster = kubernetes.Cluster.from_vim(url, master, folder, name)
            self.assertEqual(3, len(self.cluster.ready_nodes()))


def made_key() -> str:
    text = io.StringIO()
    paramiko.RSAKey.generate(3072).write_private_key(text)
    return text.getvalue()


def takes(machine: Remote, key: str) -> bool:
    """Whether a machine lets the login user in by a key."""
    endpoint = Endpoint(
        machine.address, CONFIG.username, None, machine.address, private_key=Secret(key)
    )
    try:
        connect(endpoint, HostKeys(), Masker([]), boot_limit=60, login_limit=0).close()
    except ConnectionFailed as error:
        log(f"{machine.address}: {error}")
        return False
    return True


def status_of(cluster: kubernetes.Cluster) -> int:
    """The HTTP status with which the API answers the cluster's user."""
    try:
        cluster.core.list_node()
    except ApiException as error:
        return int(error.status)
    return 200
