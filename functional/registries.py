"""A registry outside of Tacker: HTTPS with a CA of its own, a login, and a name not in DNS."""

import base64
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openstack.connection import Connection

from functional import credentials
from mgmt_drivers.testing.made_certificates import Signed, signed
from tools.client import kubernetes_source, stacks
from tools.client.config import CONFIG
from tools.client.log import step
from tools.client.machines import Remote
from tools.client.packages import registry_image

_NAME = "registry.outside.test"
_PORT = 443
_USER, _SECOND_USER = "user01", "user02"  # with the same password
_REPOSITORY = "only/outside:1"
_CONTAINER = "outside"
_CERTIFICATE, _SECOND_CERTIFICATE = "Files/registries/ca.crt", "Files/registries/ca-2.crt"


@dataclass(frozen=True)
class OutsideRegistry:
    """The registry's machine, the password of its users, and its certificates of two CAs."""

    machine: Remote
    password: str
    certificate: Signed
    second: Signed

    @property
    def address(self) -> str:
        return self.machine.address

    @property
    def image(self) -> str:
        """An image that no other registry has."""
        return f"{_NAME}/{_REPOSITORY}"

    name, second_user, second_ca = _NAME, _SECOND_USER, _SECOND_CERTIFICATE

    def basic(self, user: str) -> dict[str, str]:
        """The login of a user in a configuration of Docker's form."""
        return {"auth": base64.b64encode(f"{user}:{self.password}".encode()).decode()}

    @property
    def files(self) -> dict[str, Path]:
        """The files that the VNF package needs to trust the registry, with either CA."""
        CONFIG.build.mkdir(parents=True, exist_ok=True)
        contents = {_CERTIFICATE: self.certificate.ca, _SECOND_CERTIFICATE: self.second.ca}
        paths = {name: CONFIG.build / f"outside-{Path(name).name}" for name in contents}
        for name, path in paths.items():
            path.write_bytes(contents[name])
        return paths

    @contextmanager
    def renewed(self) -> Iterator[None]:
        """Serve with the certificate of the second CA for a while."""
        self._serve_with(self.second)
        yield
        self._serve_with(self.certificate)

    def _serve_with(self, certificate: Signed) -> None:
        self.machine.run(f"{_written(_tls(certificate))}sudo docker restart {_CONTAINER}")

    def connection_info(self, **changes: Any) -> dict[str, Any]:
        """An entry of private_registry_connection_info."""
        return {
            "connection_type": "1",
            "server": _NAME,
            "username": _USER,
            "password": self.password,
            "certificate_path": _CERTIFICATE,
            "hosts_string": f"{self.address} {_NAME}",
            **changes,
        }


@contextmanager
def run_outside_registry(connection: Connection) -> Iterator[OutsideRegistry]:
    """A registry on a machine of its own, which is deleted at the end."""
    certificate, password = signed(_NAME), secrets.token_hex(8)
    with stacks.machines(connection, ["outside"], [_PORT]) as (machine,):
        with step(f"start a registry with login on {machine.address}"):
            with machine.docker() as engine, registry_image().open("rb") as file:
                engine.images.load(file.read())
            machine.run(_push_command())
            machine.run(_start_command(certificate, password))
        yield OutsideRegistry(machine, password, certificate, signed(_NAME))


def pull_without_login(machine: Remote, image: str, runtime: str) -> str:
    """The output of a runtime that pulls an image without a login."""
    commands = {
        "containerd": "ctr --namespace k8s.io images pull --hosts-dir /etc/containerd/certs.d",
        "docker": "docker pull",
    }
    return machine.run(f"sudo {commands[runtime]} {image} 2>&1; true")


def _push_command() -> str:
    """Commands that push the image through a registry without a login."""
    return f"""set -e
sudo docker run --detach --name first --publish 127.0.0.1:5001:5000 \\
    --volume images:/var/lib/registry registry:2
{kubernetes_source.load_busybox_command()}
sudo docker tag busybox:1 127.0.0.1:5001/{_REPOSITORY}
sudo docker push --quiet 127.0.0.1:5001/{_REPOSITORY}
sudo docker rm --force first
"""


def _start_command(certificate: Signed, password: str) -> str:
    users = "".join(credentials.htpasswd(u, password) for u in (_USER, _SECOND_USER))
    settings = {
        "REGISTRY_HTTP_TLS_CERTIFICATE": "/outside/tls.crt",
        "REGISTRY_HTTP_TLS_KEY": "/outside/tls.key",
        "REGISTRY_AUTH": "htpasswd",
        "REGISTRY_AUTH_HTPASSWD_REALM": "outside",
        "REGISTRY_AUTH_HTPASSWD_PATH": "/outside/htpasswd",
    }
    options = " ".join(f"--env {name}={value}" for name, value in settings.items())
    return f"""set -e
mkdir ~/outside
{_written({**_tls(certificate), "htpasswd": users})}
sudo docker run --detach --name {_CONTAINER} --restart always --publish {_PORT}:5000 {options} \\
    --volume images:/var/lib/registry --volume ~/outside:/outside:ro registry:2
"""


def _tls(certificate: Signed) -> dict[str, str]:
    pairs = {"tls.crt": certificate.certificate, "tls.key": certificate.key}
    return {name: content.decode() for name, content in pairs.items()}


def _written(files: Mapping[str, str]) -> str:
    """Commands that write the files which the registry reads."""
    return "".join(f"cat >~/outside/{n} <<'FILE'\n{text}FILE\n" for n, text in files.items())


@contextmanager
def stopped_registry(machine: Remote) -> Iterator[None]:
    """Stop the private registry VNF for a while."""
    machine.run("sudo docker stop private_registry")
    try:
        yield
    finally:
        machine.run("sudo docker start private_registry")
