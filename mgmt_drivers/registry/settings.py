"""The settings of the registry's container, derived from the parameters."""

import hashlib
import json
from pathlib import Path

from mgmt_drivers.machine.files import File
from mgmt_drivers.registry.provide_image import image_tag
from mgmt_drivers.registry.registry_params import PrivateRegistryParams
from mgmt_drivers.secret import Secret

CONTAINER = "private_registry"
DATA_FOLDER = "/var/lib/private_registry"
CONFIG_FOLDER = "/etc/private_registry"
SETTINGS_LABEL = "mgmt-driver.settings"
_INNER_PORT = 5000
_INNER_CONFIG = "/private_registry"  # CONFIG_FOLDER as the container sees it


def config_files(params: PrivateRegistryParams) -> list[File]:
    """Certificate, key and password file, if they are given."""
    return [File(path, content, "0600") for path, content in _contents(params)]


def _contents(params: PrivateRegistryParams) -> list[tuple[str, Secret]]:
    sources: dict[str, Path] = {}
    if params.tls:
        sources |= {"tls.crt": params.tls.certificate, "tls.key": params.tls.key}
    if params.htpasswd:
        sources["htpasswd"] = params.htpasswd
    return [
        (f"{CONFIG_FOLDER}/{name}", Secret(path.read_bytes().decode()))
        for name, path in sources.items()
    ]


def _environment(params: PrivateRegistryParams) -> dict[str, str]:
    """Settings of the registry, by the names of its configuration reference."""
    values = {"REGISTRY_HTTP_ADDR": f"0.0.0.0:{_INNER_PORT}"}
    if params.tls:
        values["REGISTRY_HTTP_TLS_CERTIFICATE"] = f"{_INNER_CONFIG}/tls.crt"
        values["REGISTRY_HTTP_TLS_KEY"] = f"{_INNER_CONFIG}/tls.key"
    if params.htpasswd:
        values["REGISTRY_AUTH"] = "htpasswd"
        values["REGISTRY_AUTH_HTPASSWD_REALM"] = "private registry"
        values["REGISTRY_AUTH_HTPASSWD_PATH"] = f"{_INNER_CONFIG}/htpasswd"
    return values


def run_arguments(params: PrivateRegistryParams) -> list[str]:
    """Arguments of ``docker run`` besides the settings label and the image."""
    arguments = ["--detach", "--name", CONTAINER, "--restart", "always"]
    arguments += ["--publish", f"{params.port}:{_INNER_PORT}"]
    arguments += ["--volume", f"{DATA_FOLDER}:/var/lib/registry"]
    if params.tls or params.htpasswd:
        arguments += ["--volume", f"{CONFIG_FOLDER}:{_INNER_CONFIG}:ro"]
    for name, value in _environment(params).items():
        arguments += ["--env", f"{name}={value}"]
    return arguments


def digest(params: PrivateRegistryParams) -> str:
    """The digest of the settings: a container with another digest is outdated."""
    described = [run_arguments(params), image_tag(params.image)]
    described += [[path, content.reveal()] for path, content in _contents(params)]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]
