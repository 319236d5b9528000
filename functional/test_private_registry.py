"""The private registry VNF: its life, its options and its failures."""

import io
import json
import os
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker

from functional import credentials, proxies
from functional.proxies import proxy_log, start_proxy
from functional.requests import REQUESTS
from functional.scenario import Scenario
from tools.client import stacks, wait
from tools.client.lcm import Package, Vnf
from tools.client.log import step
from tools.client.machines import Remote
from tools.client.packages import private_registry_csar, registry_image
from tools.client.requests import load_request

_REQUEST = REQUESTS / "private_registry/instantiate.json"
_PORT = 5000
IMAGE_PORT = 8000


class RegistryScenario(Scenario):
    """The base of scenarios with registries."""

    def address(self, vnf: Vnf) -> str:
        (address,) = stacks.addresses(self.cloud, vnf.id)
        return address

    def onboard_package(self, files: Mapping[str, Path] | None = None) -> Package:
        """Onboard the package of the registry for this version of the API."""
        return self.onboard_csar(private_registry_csar(files, self.api.variant))


class RegistryLife(RegistryScenario):
    """Instantiate, push and pull, heal one VNFC, heal the whole VNF, terminate."""

    def image_params(self, server: Remote) -> dict[str, Any]:
        """Parameters that name the source of the image; without any it is the package."""
        return {}

    def test_life_of_a_registry(self) -> None:
        # The puller may serve the image, see image_params.
        machines = stacks.machines(self.cloud, ["pusher", "puller"], [IMAGE_PORT])
        pusher, puller = self.enter(machines)
        vnf = self.create_vnf(self.onboard_package())
        request = load_request(_REQUEST, self.tacker, **self.image_params(puller))
        self.assert_completed(vnf.instantiate(request))
        self.push_and_pull(pusher, puller, self.address(vnf))

        (vnfc,) = vnf.vnfcs()
        self.assert_completed(vnf.heal({"vnfcInstanceId": [vnfc["id"]], "cause": "scenario"}))
        self.assert_replaced(vnfc, vnf)
        self.push_and_pull(pusher, puller, self.address(vnf))

        (vnfc,) = vnf.vnfcs()
        self.assert_completed(vnf.heal({"cause": "scenario"}))
        self.assert_replaced(vnfc, vnf)
        self.push_and_pull(pusher, puller, self.address(vnf))

        self.check_registry_after_docker_restart(Remote(self.address(vnf)))
        self.assert_completed(vnf.terminate())
        self.assertEqual("NOT_INSTANTIATED", vnf.show()["instantiationState"])

    def assert_replaced(self, old: dict[str, Any], vnf: Vnf) -> None:
        (new,) = vnf.vnfcs()
        self.assertNotEqual(
            old["computeResource"]["resourceId"], new["computeResource"]["resourceId"]
        )
        answer = _get(f"http://{self.address(vnf)}:{_PORT}/v2/")
        self.assertEqual(200, answer.status)

    def push_and_pull(self, pusher: Remote, puller: Remote, registry: str) -> None:
        """An image pushed by one machine is pulled, the same, by another."""
        name = f"{registry}:{_PORT}/scenario"
        with step(f"push an image to {registry} and pull it on another machine"):
            for machine in (pusher, puller):
                machine.allow_plain_http(f"{registry}:{_PORT}")
            with pusher.docker() as engine:
                engine.api.import_image_from_data(_tiny_image(), repository=name, tag="1")
                pushed = engine.images.get(f"{name}:1").id
                _raise_on_error(engine.api.push(name, tag="1", stream=True, decode=True))
            with puller.docker() as engine:
                self.assertEqual(pushed, engine.images.pull(name, tag="1").id)

    def check_registry_after_docker_restart(self, machine: Remote) -> None:
        """--restart always: the container comes back with the engine, with its data."""
        with step("restart the machine's Docker engine"):
            machine.run("sudo systemctl restart docker")
            url = f"http://{machine.address}:{_PORT}/v2/_catalog"
            seen = wait.until(lambda: _body(url), bool, 60, "the registry after a restart")
        self.assertEqual({"repositories": ["scenario"]}, json.loads(seen))


class RegistryOptions(RegistryScenario):
    """Registries with other parameters, and instantiations that fail."""

    def test_tls_login_and_proxy(self) -> None:
        """A registry with TLS and a password, on a machine behind a proxy."""
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        certificate, key, ca = credentials.write_certificate(folder, _TLS_HOST)
        logins = folder / "htpasswd"
        logins.write_text(credentials.htpasswd(**_LOGIN))
        files = {
            "Files/registry.crt": certificate,
            "Files/registry.key": key,
            "Files/htpasswd": logins,
        }
        (client,) = self.enter(stacks.machines(self.cloud, ["client"], [proxies.PORT]))
        proxy = start_proxy(client)
        vnf = self.create_vnf(self.onboard_package(files))
        request = load_request(
            _REQUEST,
            self.tacker,
            port_no=_TLS_PORT,
            tls_certificate_path="Files/registry.crt",
            tls_key_path="Files/registry.key",
            htpasswd_path="Files/htpasswd",
            proxy={"http_proxy": proxy, "no_proxy": "localhost,127.0.0.0/8"},
        )
        self.assert_completed(vnf.instantiate(request))

        self.assertIn("deb.debian.org", proxy_log(client))
        with Remote(self.address(vnf)).docker() as engine:
            self.assertEqual(proxy, engine.info()["HttpProxy"])
        client.run(_trust_certificate(self.address(vnf), ca))
        with client.docker() as engine, step("push with and without the login"):
            name = f"{_TLS_HOST}:{_TLS_PORT}/scenario"
            engine.api.import_image_from_data(_tiny_image(), repository=name, tag="1")
            refused = "no basic auth credentials"
            with self.assertRaisesRegex(docker.errors.APIError, refused):
                _raise_on_error(engine.api.push(name, tag="1", stream=True, decode=True))
            events = engine.api.push(
                name, tag="1", stream=True, decode=True, auth_config=_LOGIN_AUTH
            )
            _raise_on_error(events)

    def test_causes_of_failure_are_named_and_mended(self) -> None:
        """One instantiation fails four times, each time for another reason.

        Each cause is removed as an operator would remove it, and the operation retried.
        """
        vnf = self.create_vnf(self.onboard_package())
        request = load_request(_REQUEST, self.tacker, ssh_password=_PLANTED, image_path=None)
        failed = vnf.instantiate(request)
        self.assert_failed(failed, "PrivateRegistryVDU", "refuses the login of user ubuntu")
        machine = Remote(self.address(vnf))

        machine.run(f"sudo chpasswd <<'END'\nubuntu:{_PLANTED}\nEND")
        machine = Remote(machine.address, _PLANTED)
        machine.run(_DISCONNECT)
        failed = vnf.retry(failed)
        self.assert_failed(failed, "install Docker", "package sources", machine.address)

        machine.run(_RECONNECT)
        machine.run("echo 0.0.0.0 registry-1.docker.io | sudo tee -a /etc/hosts")
        failed = vnf.retry(failed)
        self.assert_failed(failed, "cannot pull registry:2", "image_path")

        _load_image(machine)
        machine.run("nohup python3 -m http.server 5000 >/dev/null 2>&1 &")
        failed = vnf.retry(failed)
        self.assert_failed(failed, "port 5000 is occupied", "python3")

        machine.run("sudo pkill --full 'http.server 5000'")
        self.assert_completed(vnf.retry(failed))
        self.assertEqual(200, _get(f"http://{machine.address}:{_PORT}/v2/").status)
        self.assertNotIn("Plänted", machine.run(_PRINT_JOURNAL_AND_PROCESSES))

    def test_bad_parameters_are_refused_before_anything_exists(self) -> None:
        vnf = self.create_vnf(self.onboard_package())
        before = {stack.id for stack in self.cloud.orchestration.stacks()}
        request = load_request(
            _REQUEST,
            self.tacker,
            ssh_cp_name="CP9",
            image_path="Files/images/nothing.tar",
            port_no=70000,
            colour="blue",
        )
        failed = vnf.instantiate(request)
        prefix = "private_registry_installation_param"
        self.assert_failed(
            failed,
            f"{prefix}.ssh_cp_name: the VNF package has no CP CP9",
            f"{prefix}.image_path: the VNF package has no file Files/images/nothing.tar",
            f"{prefix}.port_no: must be a TCP port number",
            f"{prefix}.colour: unknown parameter",
        )
        self.assertEqual(before, {stack.id for stack in self.cloud.orchestration.stacks()})

        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        request = load_request(_REQUEST, self.tacker, port_no=5001)
        self.assert_completed(vnf.instantiate(request))
        self.assertEqual(200, _get(f"http://{self.address(vnf)}:5001/v2/").status)


_TLS_HOST, _TLS_PORT = "registry.example", 5443
_LOGIN = {"user": "me", "password": "pa$$ word"}
_LOGIN_AUTH = {"username": _LOGIN["user"], "password": _LOGIN["password"]}


def _trust_certificate(address: str, certificate: str) -> str:
    """Command that makes the registry's name and CA known on a machine."""
    folder = f"/etc/docker/certs.d/{_TLS_HOST}:{_TLS_PORT}"
    return (
        f"echo {address} {_TLS_HOST} | sudo tee -a /etc/hosts; sudo mkdir -p {folder}; "
        f"echo '{certificate}' | sudo tee {folder}/ca.crt"
    )


# Only the local network stays reachable; SSH sessions go on.
_DISCONNECT = "sudo ip route add unreachable 0.0.0.0/1; sudo ip route add unreachable 128.0.0.0/1"
_RECONNECT = "sudo ip route del unreachable 0.0.0.0/1; sudo ip route del unreachable 128.0.0.0/1"


# A password that breaks commands without quotes, and that a search finds.
_PLANTED = "Plänted 'one' $HOME \"two\" `id`"
_PRINT_JOURNAL_AND_PROCESSES = (
    "sudo journalctl --no-pager; sudo sh -c 'cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ "
    "2>/dev/null' | tr '\\0' '\\n'"
)


def _get(url: str) -> Any:
    return urllib.request.urlopen(url, timeout=10)


def _body(url: str) -> str:
    try:
        return str(_get(url).read().decode())
    except OSError:
        return ""


def _tiny_image() -> bytes:
    """A root file system of one file with unique content."""
    content = f"scenario {time.time_ns()} {os.urandom(8).hex()}\n".encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        entry = tarfile.TarInfo("content")
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _raise_on_error(events: Any) -> None:
    for event in events:
        if "error" in event:
            raise docker.errors.APIError(event["error"])


def _load_image(machine: Remote) -> None:
    """Load the registry's image as an operator with a USB stick would."""
    with machine.docker() as engine, registry_image().open("rb") as file:
        (image,) = engine.images.load(file)
        image.tag("registry", "2")
