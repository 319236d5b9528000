"""Settings of a running cluster are changed by modifications: its machines and workload stay."""

import contextlib
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
from kubernetes.client.exceptions import ApiException

from functional import faults, hardening, kubernetes, shared
from functional.cluster_scenario import MASTER, ClusterScenario
from functional.dry_run import DryRunVnf
from functional.proxies import PORT, start_proxy
from functional.requests import REQUESTS
from mgmt_drivers.cluster.modification import NAME
from mgmt_drivers.cluster.monitoring import monitoring
from mgmt_drivers.cluster.registries.registries import KUBELET_LOGINS
from mgmt_drivers.errors import ConnectionFailed
from mgmt_drivers.machine.proxied import ENVIRONMENT_FILE
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.setup.trust_certificates import FILE as TRUSTED
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
_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
LABEL, ADDON = {"example.com/rack": "r7"}, "note"
_MANIFEST = f"Files/kubernetes/{ADDON}.yaml"
NOTE = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": ADDON}}
# The kinds of changes in their order, each with the phase that makes the change on the
# control-plane node, and what strikes this phase there. No dry run has the commands. The workers
# get what the phase brings meanwhile, but for the proxy and the CAs: machines get these in turn.
FAULTS = {
    "names of the API": ("issue the apiserver's certificate", "fails", "issue-api-certificate"),
    "labels": ("change labels and taints", "cut", "kubectl .* patch node"),
    "add-ons": ("apply add-ons", "cut", "kubectl .* apply --server-side"),
    "backups": ("save the first backup of etcd", "fails", "etcd-backup.sh save"),
    "monitoring": ("configure monitoring", "cut", "apply-unit tacker-node-health"),
    "the site's CAs": ("trust the site's CAs", "fails", "update-ca-certificates"),
    "registries": ("configure registries", "cut", f"write-files {KUBELET_LOGINS}"),
    "proxy": ("configure the proxy", "fails", "systemctl restart containerd"),
    "token": ("revoke Tacker's old token", "fails", "kubectl .* delete secret"),
}


class Changes(ClusterScenario):
    """Each kind of change fails once and is retried; a dry run predicts each attempt."""

    api = V2()
    kind: type[Vnf] = DryRunVnf
    image = CONFIG.prepared_image

    def test_changes(self) -> None:
        self.registry, outside = shared.private_registry(), shared.outside_registry()
        (client,) = self.enter(stacks.machines(self.cloud, ["proxy"], [PORT]))
        self.proxy = start_proxy(client)
        manifest = Path(self.enter(tempfile.TemporaryDirectory()), "note.yaml")
        manifest.write_text(json.dumps(NOTE))  # which is YAML, too
        vnf = self.create_vnf(self.onboard_package({**outside.files, _MANIFEST: manifest}))
        params = self.registry_params(self.registry)
        self.assert_completed(vnf.instantiate(self.request("simple", self.registry, **params)))
        self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        (master,) = self.machines(vnf)[MASTER]
        self.check_pulls_from_registries(self.cluster, self.registry, master, "containerd")
        servers, first, second = self.servers(vnf), made_key(), made_key()
        self.modify(vnf, **dict.fromkeys(_GROUPS, {"private_key": first}))
        vim_rights.bind_to_all(master)
        faults.prepare(master)
        self.enter(outside.renewed())
        for name, wanted in self.changes().items():
            phase, *fault = FAULTS[name]
            self.change(vnf, name, wanted, phase, faults.injected([master], *fault))
        wanted = dict.fromkeys(_GROUPS, {"private_key": second, "password": CONFIG.password})
        self.change(vnf, "logins", wanted, "change the login", unwritable_keys(master))
        self.check_api(vnf)
        self.check_machines(vnf, first, second)
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

    def changes(self) -> dict[str, dict[str, Any]]:
        """The wanted values of each kind of change; the last one is the guide's request."""
        outside = shared.outside_registry()
        guide = json.loads(json.loads((REQUESTS / _REQUEST).read_text())["metadata"][NAME])
        logins = {"username": outside.second_user, "certificate_path": outside.second_ca}
        return {
            "names of the API": {"api_names": guide["api_names"]},
            "labels": {"worker_node": {"labels": LABEL}},
            "add-ons": {"addons": [{"name": ADDON, "manifest_path": _MANIFEST}]},
            "backups": {"etcd_backup": guide["etcd_backup"]},
            "monitoring": {"monitoring": {}},
            "the site's CAs": {"ca_certificates": outside.second_ca},
            "registries": self.registry_params(self.registry, **logins),
            "proxy": {"proxy": {"http_proxy": self.proxy}},
            "token": guide,
        }

    def change(
        self, vnf: Vnf, name: str, wanted: dict[str, Any], phase: str,
        fault: contextlib.AbstractContextManager[None],
    ) -> None:
        """The fault strikes the phase and not the dry run before it; the retry goes on."""
        body = {"metadata": {NAME: wanted}}
        with step(f"change of {name}"):
            with fault:
                failed = vnf.modify(body)
            self.assert_failed(failed, f"phase '{phase}'")
            assert isinstance(vnf, DryRunVnf)
            self.assert_completed(vnf.retry_modify(failed, body))

    def check_machines(self, vnf: Vnf, old: str, new: str) -> None:
        outside = shared.outside_registry()
        trusted = f"sudo sh -c 'cat /etc/containerd/certs.d/{outside.name}/*.crt'"
        for machines in self.machines(vnf).values():
            for machine in machines:
                machine.run(f"openssl verify -CAfile {_BUNDLE} {TRUSTED}")
                machine.run(f"systemctl is-active {' '.join(monitoring.UNITS)}")
                self.assertEqual(outside.second.ca.decode(), machine.run(trusted))
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
        selected = ",".join(f"{key}={value}" for key, value in LABEL.items())
        self.assertEqual(2, len(self.cluster.core.list_node(label_selector=selected).items))
        master.run(f"{kubernetes.KUBECTL} get configmap {ADDON}")
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


@contextlib.contextmanager
def unwritable_keys(machine: Remote) -> Iterator[None]:
    """While it is entered, sshd reads the keys of the login user, and nobody can add one."""
    machine.run("chmod 500 ~/.ssh")
    yield
    machine.run("chmod 700 ~/.ssh")


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
