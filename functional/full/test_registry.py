"""Registries with other parameters, and instantiations that fail."""

import tempfile
from pathlib import Path

import docker

from functional import credentials, proxies
from functional.proxies import proxy_log, start_proxy
from functional.registry_scenario import (
    PORT,
    REQUEST,
    RegistryLife,
    RegistryScenario,
    get,
    raise_on_error,
    tiny_image,
)
from tools.client import stacks
from tools.client.log import step
from tools.client.machines import Remote
from tools.client.packages import registry_image
from tools.client.requests import load_request


class RegistryThroughV1(RegistryLife):
    """The image is in the package."""

    def test_life_of_a_registry(self) -> None:
        self.check_life()


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
            REQUEST,
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
            engine.api.import_image_from_data(tiny_image(), repository=name, tag="1")
            refused = "no basic auth credentials"
            with self.assertRaisesRegex(docker.errors.APIError, refused):
                raise_on_error(engine.api.push(name, tag="1", stream=True, decode=True))
            events = engine.api.push(
                name, tag="1", stream=True, decode=True, auth_config=_LOGIN_AUTH
            )
            raise_on_error(events)

    def test_causes_of_failure_are_named_and_mended(self) -> None:
        """One instantiation fails four times, each time for another reason.

        Each cause is removed as an operator would remove it, and the operation retried.
        """
        vnf = self.create_vnf(self.onboard_package())
        request = load_request(REQUEST, self.tacker, ssh_password=_PLANTED, image_path=None)
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
        self.assertEqual(200, get(f"http://{machine.address}:{PORT}/v2/").status)
        self.assertNotIn("Plänted", machine.run(_PRINT_JOURNAL_AND_PROCESSES))

    def test_bad_parameters_are_refused_before_anything_exists(self) -> None:
        vnf = self.create_vnf(self.onboard_package())
        before = {stack.id for stack in self.cloud.orchestration.stacks()}
        request = load_request(
            REQUEST,
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
        request = load_request(REQUEST, self.tacker, port_no=5001)
        self.assert_completed(vnf.instantiate(request))
        self.assertEqual(200, get(f"http://{self.address(vnf)}:5001/v2/").status)


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


def _load_image(machine: Remote) -> None:
    """Load the registry's image as an operator with a USB stick would."""
    with machine.docker() as engine, registry_image().open("rb") as file:
        (image,) = engine.images.load(file)
        image.tag("registry", "2")
