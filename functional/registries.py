"""A registry outside of Tacker: HTTPS with a CA of its own, a login, and a name not in DNS."""

import base64
import secrets
from collections.abc import Iterator
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
_CERTIFICATE = "Files/registries/ca.crt"


@dataclass(frozen=True)
class OutsideRegistry:
    """The registry's address, the password of its user, and the CA of its certificate."""

    address: str
    password: str
    ca: Path

    @property
    def image(self) -> str:
        """An image that no other registry has."""
        return f"{_NAME}/{_REPOSITORY}"

    name, second_user = _NAME, _SECOND_USER

    def basic(self, user: str) -> dict[str, str]:
        """The login of a user in a configuration of Docker's form."""
        return {"auth": base64.b64encode(f"{user}:{self.password}".encode()).decode()}

    @property
    def files(self) -> dict[str, Path]:
        """The files that the VNF package needs to trust the registry."""
        return {_CERTIFICATE: self.ca}

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
        CONFIG.build.mkdir(parents=True, exist_ok=True)
        ca = CONFIG.build / "outside-ca.crt"
        ca.write_bytes(certificate.ca)
        yield OutsideRegistry(machine.address, password, ca)


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
    files = {
        "tls.crt": certificate.certificate.decode(),
        "tls.key": certificate.key.decode(),
        "htpasswd": "".join(credentials.htpasswd(u, password) for u in (_USER, _SECOND_USER)),
    }
    written = "".join(f"cat >~/outside/{n} <<'FILE'\n{text}FILE\n" for n, text in files.items())
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
{written}
sudo docker run --detach --restart always --publish {_PORT}:5000 {options} \\
    --volume images:/var/lib/registry --volume ~/outside:/outside:ro registry:2
"""


@contextmanager
def stopped_registry(machine: Remote) -> Iterator[None]:
    """Stop the private registry VNF for a while."""
    machine.run("sudo docker stop private_registry")
    try:
        yield
    finally:
        machine.run("sudo docker start private_registry")
