"""Every operation of both VNFs, with a canary in every secret field: nothing leaks anywhere.

Each kind of command is struck, and then the machine says all secrets that it knows, those which
were made on the way among them, between characters that would forge lines of a log.
"""

import base64
import copy
import dataclasses
import functools
import io
import logging
import pickle
import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import paramiko

from mgmt_drivers.cluster.access.service_account import Credentials
from mgmt_drivers.engine.services import Services
from mgmt_drivers.inventory import Node
from mgmt_drivers.operations import modify, registry, scale_in, scale_out
from mgmt_drivers.request import LcmRequest, Vnfc
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.ssh.hostkeys import HostKeys
from mgmt_drivers.tacker.v2 import Call
from mgmt_drivers.testing.fakes import FakeClock, FakeStacks, MemoryStore, stack_of
from mgmt_drivers.testing.leak import Leak, LeakingConnection, Shape
from mgmt_drivers.testing.made_certificates import key_and_certificate
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    NOT_NEW,
    PARAMS,
    STORAGE,
    WORKERS,
    SimulatedCloud,
    new_node,
    no_fault,
)
from mgmt_drivers.testing.simulated_world import ACCOUNT_TOKEN, World
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.vim import Vim

# A password with what URLs, shells and JSON write in another way.
_PROXY = "http://me:Pl4nted-proxy%21%2F@proxy.example.com:3128"
_PASSWORDS = {
    name: f"Pl4nted-{name} 'q' \"d\" $x"
    for name in ("master", "worker", "storage", "registry")
}
_OWN_PASSWORD = "Pl4nted-vnf 'q' \"d\" $x"  # the private registry's machine
_CANARY = "Pl4nted"


def _private_key() -> str:
    text = io.StringIO()
    paramiko.ECDSAKey.generate().write_private_key(text)
    return text.getvalue()


_KEY, _NEW_KEY = _private_key(), _private_key()
_SECRETS = [*_PASSWORDS.values(), *_KEY.splitlines()[1:-1]]
_SECRETS += [_PROXY, "Pl4nted-proxy%21%2F", "Pl4nted-proxy!/"]
_SECRETS += [base64.b64encode(f"me:{_PASSWORDS['registry']}".encode()).decode()]
_HASH = "$2y$05$" + "Pl4nted".ljust(53, "x")

Connected = Callable[[Services], Services]


def _params() -> dict[str, Any]:
    params = copy.deepcopy(PARAMS)
    for group, name in (("master_node", "master"), ("worker_node", "worker"),
                        ("storage_server", "storage")):
        params[group]["password"] = _PASSWORDS[name]
    params["private_registry_connection_info"][1]["password"] = _PASSWORDS["registry"]
    params["worker_node"]["private_key"] = _KEY
    params["proxy"] = {"http_proxy": _PROXY, "https_proxy": _PROXY}
    params["storage_server"]["nfs_server_setup_params"] = [{"export_dir": "/volume/nfs"}]
    return params


class Cluster(SimulatedCloud):
    """The operations of the cluster, each with all that comes before it.

    :param connected: makes of services those whose connections confess
    """

    secrets = _SECRETS

    def __init__(self, folder: Path, connected: Connected) -> None:
        super().__init__(folder)
        self.params = _params()
        self.connected = connected

    def start(self, is_clustered: bool = True) -> Services:
        self.build(is_clustered)
        return self.connected(self.services(trace_folder=self.package / "traces"))

    def instantiating(self) -> None:
        services = self.start(is_clustered=False)
        self.instantiate(services)

    def scaling_out(self) -> None:
        services = self.start()
        new = new_node("worker", 20, "10.10.0.20")
        self.arrive(new)
        scale_out.scale_out(self.request(new.vnfc_id), services, self.vims)

    def scaling_in(self) -> None:
        services = self.start()
        scale_in.scale_in(self.request(*self.ids(*WORKERS)), services, self.vims)

    def scaling_masters_out(self) -> None:
        services = self.start()
        scale_out.scale_out(self.request(*self._more_masters()), services, self.vims)

    def scaling_masters_in(self) -> None:
        services = self.start()
        self._more_masters(is_member=True)
        scale_in.scale_in(self.request(*self.ids(*MASTERS[:2])), services, self.vims)

    def _more_masters(self, is_member: bool = False) -> list[str]:
        new = [new_node("master", n, f"10.10.0.{n}") for n in (50, 51)]
        for node in new:
            self.arrive(node, is_member)
        return [node.vnfc_id for node in new]

    def rolling_back(self) -> None:
        services = self.start()
        orphan = self.arrive(new_node("worker", 20, "10.10.0.20"), is_member=True)
        del self.world.machines[orphan.node.server_id]
        scale_out.roll_back_scale_out(self.request(), services)

    def healing_a_worker(self) -> None:
        self._heal(WORKERS[0])

    def healing_a_master(self) -> None:
        self._heal(MASTERS[0])

    def healing_the_storage_server(self) -> None:
        self._heal(STORAGE)

    def healing_all(self) -> None:
        self._heal_all(self.start())

    def restoring(self) -> None:
        self._heal_all(self._backed_up(), "latest")

    def scaling_out_with_backups(self) -> None:
        services = self._backed_up()
        new = self.arrive(new_node("worker", 20, "10.10.0.20")).node
        scale_out.scale_out(self.request(new.vnfc_id), services, self.vims)

    def renewing(self) -> None:
        services = self.start()
        modify.modify(self.request(), services, self.vims, {"renew_certificates": True})

    def changing(self) -> None:
        """All that has secrets gets others, which the machines know, too."""
        services = self.start()
        learn = self.connected.__self__.leak.learn  # type: ignore[attr-defined]
        learn(*_NEW_KEY.splitlines()[1:-1])
        login = {"username": "me", "password": "Pl4nted-new"}
        registry = {"connection_type": "1", "server": "registry.example.com", **login}
        wanted = {
            "private_registry_connection_info": [registry],
            "proxy": {"http_proxy": _PROXY.replace("proxy%21", "other")},
            "master_node": {"password": "Pl4nted-other-master 'q' $x"},
            "worker_node": {"private_key": _NEW_KEY, "password": "Pl4nted-other-worker"},
            "renew_vim_token": True,
        }
        token = Secret(self.world.account_token())
        self.vims.register(Vim("vim", "https://api", Credentials(token, "c")))
        for machine in self.world.machines.values():
            machine.packages.add("helm")
        # The values of parameters lie in clear text where Tacker has those of the instantiation.
        try:
            modify.modify(self.request(), services, self.vims, wanted)
            del self.store.kept["changed_params"]
        finally:
            self.store.kept.pop("wanted_logins", None)

    def _backed_up(self) -> Services:
        self.params["etcd_backup"], self.operation = {"interval": "1h", "keep": 3}, NOT_NEW
        services = self.start(is_clustered=False)
        self.instantiate(self.services())  # whose secrets are not those of the story
        return services

    def _heal_all(self, services: Services, backup: str | None = None) -> None:
        def request() -> LcmRequest:
            return dataclasses.replace(self.request(), restore_from=backup)

        self.heal_start(request(), services)
        for machine in list(self.world.machines.values()):
            self.replaced(machine.node)
        self.world.nodes, self.world.members, self.world.volumes = {}, [], {}
        self.heal_end(request(), services)

    def upgrading(self) -> None:
        self.params["kubernetes_version"] = "1.36.4"
        services = self.start()
        self.world.have("v1.36.4")
        modify.modify(self.request(), services, self.vims, {"kubernetes_version": "1.37"})

    def _heal(self, address: str) -> None:
        services = self.start()
        target = self.machine(address).node
        name = self.world.machines[target.server_id].name
        if name in self.world.nodes:
            self.world.nodes[name]["metadata"]["labels"]["rack"] = "r7"
        self.heal_start(self.request(target.vnfc_id), services)
        self.replaced(target)
        self.heal_end(self.request(target.vnfc_id), services)


class Registry:
    """The operations of the private registry."""

    def __init__(self, folder: Path, connected: Connected) -> None:
        self.package, self.connected = folder, connected
        key, certificate = key_and_certificate()
        (folder / "tls.key").write_bytes(key)
        (folder / "tls.crt").write_bytes(certificate)
        (folder / "htpasswd").write_text(f"me:{_HASH}\n")
        self.secrets = [_OWN_PASSWORD, *_SECRETS[-4:-1], _HASH, *key.decode().split("\n")[1:-2]]
        self.params = {
            "ssh_cp_name": "CP1", "ssh_username": "ubuntu", "ssh_password": _OWN_PASSWORD,
            "tls_certificate_path": "tls.crt", "tls_key_path": "tls.key",
            "htpasswd_path": "htpasswd", "proxy": {"http_proxy": _PROXY, "https_proxy": _PROXY},
        }
        self.world, self.store = World(), MemoryStore()

    def instantiating(self) -> None:
        self._instantiate("instantiate", 1)

    def healing(self) -> None:
        self.params["image_url"] = "https://images.example.com/registry.tar"
        self._instantiate("heal", 2)

    def _instantiate(self, operation: str, number: int) -> None:
        node = Node("vnfc-1", "VDU1", f"server-{number}", {"CP1": "192.0.2.10"})
        self.world, self.store = World(), MemoryStore()
        self.world.add(node)
        request = LcmRequest(
            operation, "vnf-1", self.package, {"CP1": "VDU1"},
            {"private_registry_installation_param": self.params},
            stack_id="vnf", vnfcs=(Vnfc(node.vnfc_id, node.vdu, node.server_id, "vnf"),),
        )

        def connect(endpoint: Endpoint, *rest: Any) -> SimulatedSession:
            machine = self.world.machines[endpoint.server_id]
            return SimulatedSession(self.world, machine, no_fault, no_fault)

        stacks = FakeStacks(lambda stack_id: stack_of(node))
        traces = self.package / "traces"
        services = Services(stacks, self.store, traces, 1.0, connect, FakeClock())
        registry.instantiate(request, self.connected(services))


class Records(logging.Handler):
    """Everything that is logged, at the finest level."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


class Attempt:
    """One story with one kind of command struck."""

    def __init__(self, story: Callable[[Any], None], shape: Shape = (), how: str = "") -> None:
        kind = Cluster if story.__qualname__.startswith("Cluster.") else Registry
        with tempfile.TemporaryDirectory() as folder:
            vnf = kind(Path(folder), self.connected)
            self.vnf, self.leak = vnf, Leak(vnf.secrets, shape, how)
            self.error: BaseException | None = None
            handler, root = Records(), logging.getLogger()
            level = root.level
            root.addHandler(handler)
            root.setLevel(logging.DEBUG)
            try:
                story(vnf)
            except Exception as error:  # noqa: BLE001 - whatever the leak led to
                self.error = error
            finally:
                root.removeHandler(handler)
                root.setLevel(level)
            (trace,) = (Path(folder) / "traces").iterdir()
            self.trace, self.trace_mode = trace.read_text(), trace.stat().st_mode & 0o777
            self.logs = handler.texts
        self.secrets = {_CANARY, *self.leak.secrets}

    def connected(self, services: Services) -> Services:
        def connect(
            endpoint: Endpoint, keys: HostKeys, masker: Masker, limit: float
        ) -> LeakingConnection:
            session = services.connect(endpoint, keys, masker, limit)
            assert isinstance(session, SimulatedSession)
            return LeakingConnection(endpoint, masker, session, self.leak)

        return dataclasses.replace(services, connect=connect)

    def told(self) -> list[str]:
        """What logs, errors and what led to them, say."""
        texts, error = list(self.logs), self.error
        while error:
            texts += [str(error), str(getattr(error, "tail", ""))]
            error = error.__cause__ or error.__context__
        return texts


@functools.cache
def _unharmed(story: Callable[[Any], None]) -> Attempt:
    return Attempt(story)


_STORIES = (  # those with few commands first
    Registry.healing, Registry.instantiating, Cluster.rolling_back, Cluster.scaling_in,
    Cluster.healing_the_storage_server, Cluster.scaling_out, Cluster.healing_a_worker,
    Cluster.healing_a_master, Cluster.scaling_masters_out, Cluster.scaling_masters_in,
    Cluster.instantiating, Cluster.healing_all, Cluster.upgrading, Cluster.renewing,
    Cluster.scaling_out_with_backups, Cluster.restoring, Cluster.changing,
)
# Which files have secrets, of all that stories leave on machines.
_FILES = {
    "/etc/apt/apt.conf.d/95-mgmt-driver-proxy", "/var/lib/tacker-mgmt-drivers/proxy.env",
    "/var/lib/kubelet/config.json", "/etc/private_registry/htpasswd",
    "/etc/private_registry/tls.key", ".kube/config",
}


def confess(call: Call) -> None:
    """A hook of the v2 API, of whose commands one is struck, as the request says."""
    attempt = Attempt(Cluster.instantiating, tuple(call.request["shape"]), call.request["how"])
    call.store.save("secrets", sorted(attempt.secrets))  # for the test alone
    assert attempt.error
    raise attempt.error


_HOOK = """
from mgmt_drivers.tacker import v2_process
from mgmt_drivers.tests import test_secrets
v2_process.run({"instantiate_end": test_secrets.confess})
"""


class SecretsTestCase(unittest.TestCase):
    def assert_clean(self, attempt: Attempt) -> None:
        for text in attempt.told():
            self.assert_none_in(attempt, text)
            self.assertTrue(text.isprintable(), text)
        self.assert_none_in(attempt, attempt.trace)
        self.assertEqual(0o640, attempt.trace_mode)
        for line in attempt.leak.lines:
            self.assert_none_in(attempt, line)
        for value in attempt.vnf.store.kept.values():
            self.assert_none_in(attempt, value)

    def assert_none_in(self, attempt: Attempt, text: str) -> None:
        found = [secret for secret in attempt.secrets if secret in text]
        self.assertEqual([], found, text)


class SecretsTest(SecretsTestCase):
    def test_what_is_well_leaks_nothing(self) -> None:
        files: set[str] = set()
        for story in _STORIES:
            with self.subTest(story.__qualname__):
                attempt = _unharmed(story)
                self.assertIsNone(attempt.error)
                self.assert_clean(attempt)
                files |= self.files_with_secrets(attempt)
        self.assertEqual(_FILES, files)

    def test_secrets_that_are_made_are_seen_to_be(self) -> None:
        """Or the others prove nothing: join tokens, a certificate key, and an account's token."""
        made = Attempt(Cluster.instantiating).leak.secrets[len(_SECRETS) :]
        encoded = base64.b64encode(ACCOUNT_TOKEN.encode()).decode()
        self.assertEqual({ACCOUNT_TOKEN, encoded}, set(made[-2:]))
        self.assertEqual([16, 16, 64], sorted(map(len, made[:-2])))

    def files_with_secrets(self, attempt: Attempt) -> set[str]:
        found = set()
        for machine in attempt.vnf.world.machines.values():
            for path, (content, mode) in machine.files.items():
                secrets = [s for s in attempt.secrets if s.encode() in content]
                if secrets:
                    self.assertEqual("600", mode, path)
                    found.add(path)
        return found


class ScriptTest(SecretsTestCase):
    """The v2 API's process: its standard error, which ends up in the operation, and its log."""

    def test_a_hook_that_fails(self) -> None:
        for shape, how in (
            (("run-kubeadm", "/var/lib/tacker-mgmt-drivers/member"), "fails"),
            (("kubeadm", "version"), "lies"),
            (("ip", "-json"), "lies"),
        ):
            with self.subTest(shape):
                self.check_hook(shape, how)

    def check_hook(self, shape: Shape, how: str) -> None:
        given = {
            "operation": "instantiate_end", "request": {"shape": shape, "how": how},
            "grant_request": None, "vnf_instance": {"id": "vnf-1"}, "tmp_csar_dir": "",
        }
        checkout = Path(registry.__file__).parents[2]
        ran = subprocess.run(
            [sys.executable, "-c", _HOOK],
            input=pickle.dumps(given), capture_output=True, cwd=checkout,
            env={"PYTHONPATH": str(checkout)}, check=False,
        )
        told = ran.stderr.decode()
        found = re.search(r"[(]details: ([^)]+)[)]\n\Z", told)
        self.assertTrue(found and told[:-1].isprintable(), told)
        assert found
        log = Path(found[1])
        self.assertEqual(0o600, log.stat().st_mode & 0o777)
        written = log.read_text().rpartition(" INFO instantiate_end of VNF vnf-1\n")[2]
        self.assertIn("Traceback", written)
        secrets = pickle.loads(ran.stdout)["user_script_err_handling_data"]["secrets"]
        for text in (told, written):
            self.assertEqual([], [secret for secret in secrets if secret in text], text)
            self.assertFalse(re.search("^2026-01-01|[\x1b\r\u2028]", text, re.MULTILINE), text)


class ConfessionsTest(SecretsTestCase):
    """Each kind of command is struck, in the first of the stories that gives it."""

    def test_commands_that_fail(self) -> None:
        self.assertGreater(self.struck("fails"), 50)

    def test_commands_that_lie(self) -> None:
        self.assertGreater(self.struck("lies"), 10)

    def test_commands_whose_output_is_spoilt(self) -> None:
        self.assertGreater(self.struck("is spoilt"), 5)

    def test_an_account_that_is_shown_before_a_failure(self) -> None:
        shape, how = ("kubectl", "get", "secret"), "fails without a word"
        attempt = Attempt(Cluster.instantiating, shape, how)
        self.assert_clean(attempt)
        self.assertIn("kubectl get secret", str(attempt.error))

    def struck(self, how: str) -> int:
        """How many operations failed of it."""
        failed, known = 0, set[Shape]()
        for story in _STORIES:
            shapes = set(_unharmed(story).leak.shapes)
            # An upgrade that has failed asks again, to tell what it has left.
            asked_again = {s for s in shapes if story is Cluster.upgrading and s[1:2] == ("get",)}
            for shape in (shapes - known) | asked_again:
                known.add(shape)
                with self.subTest(story=story.__qualname__, shape=shape):
                    attempt = Attempt(story, shape, how)
                    self.assert_clean(attempt)
                    failed += attempt.error is not None
        return failed
