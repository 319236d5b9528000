"""The settings of the registry's containers, derived from the parameters."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from mgmt_drivers.machine.files import File
from mgmt_drivers.registry.provide_image import image_tag
from mgmt_drivers.registry.registry_params import PrivateRegistryParams, Tls, read_pem
from mgmt_drivers.secret import Secret

CONTAINER = "private_registry"
DATA_FOLDER = "/var/lib/private_registry"
CONFIG_FOLDER = "/etc/private_registry"
SETTINGS_LABEL = "mgmt-driver.settings"
_PUSH_CONTAINER = "private_registry_push"
_INNER_PORT = 5000
_INNER_CONFIG = "/private_registry"  # CONFIG_FOLDER as the container sees it
# The whole map: the registry's version 3 does not start with a variable of a key below.
_READ_ONLY = json.dumps({"readonly": {"enabled": True}, "uploadpurging": {"enabled": False}})


@dataclass(frozen=True)
class Container:
    """A container of the registry; containers of one machine share the data.

    ``port`` is published at ``address``, which ends with a colon, or else at all addresses.
    """

    params: PrivateRegistryParams
    name: str
    port: int
    address: str = ""
    is_read_only: bool = False

    @property
    def tls(self) -> Tls | None:
        """Certificate and key, unless the port is on the loopback address."""
        return None if self.address else self.params.tls

    def config_files(self) -> list[File]:
        found = tls_files(self.params) if self.tls else []
        if self.params.htpasswd:
            content = Secret(self.params.htpasswd.read_bytes().decode())
            found.append(File(f"{CONFIG_FOLDER}/htpasswd", content, "0600"))
        return found

    def _environment(self) -> dict[str, str]:
        values = {"REGISTRY_HTTP_ADDR": f"0.0.0.0:{_INNER_PORT}"}
        if self.tls:
            values["REGISTRY_HTTP_TLS_CERTIFICATE"] = f"{_INNER_CONFIG}/tls.crt"
            values["REGISTRY_HTTP_TLS_KEY"] = f"{_INNER_CONFIG}/tls.key"
        if self.params.htpasswd:
            values["REGISTRY_AUTH"] = "htpasswd"
            values["REGISTRY_AUTH_HTPASSWD_REALM"] = "private registry"
            values["REGISTRY_AUTH_HTPASSWD_PATH"] = f"{_INNER_CONFIG}/htpasswd"
        if self.is_read_only:
            values["REGISTRY_STORAGE_MAINTENANCE"] = _READ_ONLY
        return values

    def run_arguments(self) -> list[str]:
        """Arguments of ``docker run`` besides the settings label and the image."""
        arguments = ["--detach", "--name", self.name, "--restart", "always"]
        arguments += ["--publish", f"{self.address}{self.port}:{_INNER_PORT}"]
        mode = ":ro" if self.is_read_only else ""
        arguments += ["--volume", f"{DATA_FOLDER}:/var/lib/registry{mode}"]
        if self.tls or self.params.htpasswd:
            arguments += ["--volume", f"{CONFIG_FOLDER}:{_INNER_CONFIG}:ro"]
        for name, value in self._environment().items():
            arguments += ["--env", f"{name}={value}"]
        return arguments

    def digest(self) -> str:
        """The digest of the settings: a container with another digest is outdated."""
        described = [self.run_arguments(), image_tag(self.params.image)]
        described += [
            [file.path, file.content.reveal()]
            for file in self.config_files()
            if isinstance(file.content, Secret)
        ]
        return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]


def tls_files(params: PrivateRegistryParams) -> list[File]:
    """Certificate and key, which root alone may read, if the registry speaks HTTPS."""
    tls = params.tls
    pair = {"tls.crt": tls.certificate, "tls.key": tls.key} if tls else {}
    return [File(f"{CONFIG_FOLDER}/{name}", read_pem(path), "0600") for name, path in pair.items()]


def containers(params: PrivateRegistryParams) -> Sequence[Container]:
    """The registry's container; with a port for pushes, one for pulls and one for pushes.

    Whoever could push over the images of bundles would change what clusters run.
    """
    if params.push_port is None:
        return [Container(params, CONTAINER, params.port, is_read_only=bool(params.bundles))]
    return [
        Container(params, CONTAINER, params.port, is_read_only=True),
        Container(params, _PUSH_CONTAINER, params.push_port, "127.0.0.1:"),
    ]
