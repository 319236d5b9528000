"""The Docker engine of a machine, through its command line."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mgmt_drivers.clock import NotYet
from mgmt_drivers.errors import WaitTimeout
from mgmt_drivers.machine import answers, image_fetch, packages
from mgmt_drivers.machine.host import Host
from mgmt_drivers.secret import Secret

_START_LIMIT = 120.0  # seconds for the engine to answer
_RELOADS, _RELOAD_LIMIT = 6, 20.0  # number of reloads, and seconds for each to take effect
_FETCH = Path(image_fetch.__file__).read_text()
_TRANSFER_LIMIT = 1800.0  # seconds to load or pull an image


def wait_for_engine(host: Host) -> None:
    """Wait until the engine answers."""

    def answers() -> None:
        result = host.ask("docker", "version", "--format", "{{.Server.Version}}")
        if not result.ok:
            raise NotYet(result.tail)

    host.clock.until(answers, _START_LIMIT, "the Docker engine")


def reload_plain_http(host: Host, registries: Sequence[str]) -> None:
    """Wait until the engine uses plain HTTP for registries, as its configuration says.

    The engine reads its configuration some time after the signal of a reload, and loses a signal
    that arrives while it starts: then the reload is repeated.

    :raises WaitTimeout: if no reload takes effect
    """

    def shows() -> None:
        text = host.sudo("docker", "info", "--format", "{{json .RegistryConfig.IndexConfigs}}")
        configs = json.loads(text)
        lacking = [name for name in registries if configs.get(name, {}).get("Secure", True)]
        if lacking:
            raise NotYet(f"its insecure registries are without {', '.join(lacking)}")

    what = "the Docker engine's new configuration"
    for _ in range(_RELOADS):
        with contextlib.suppress(WaitTimeout):
            host.clock.until(shows, _RELOAD_LIMIT, what)
            return
        host.sudo("systemctl", "reload", "docker")
    host.clock.until(shows, _RELOAD_LIMIT, what)


def is_running(host: Host) -> bool:
    return host.ask("docker", "version").ok


def is_installed(host: Host) -> bool:
    return packages.has_programs(host, "docker", "dockerd")


def image_id(host: Host, reference: str) -> str | None:
    """Ask for the id of an image; None if the machine does not have the image."""
    result = host.ask("docker", "image", "inspect", "--format", "{{.Id}}", reference)
    return result.stdout.strip() if result.ok else None


def load(host: Host, archive: Path, reference: str, tag: str) -> None:
    """Stream an archive to the machine, load it, and tag its image ``reference`` as ``tag``."""
    host.sudo("docker", "load", "--quiet", stdin=archive, timeout=_TRANSFER_LIMIT)
    host.sudo("docker", "tag", reference, tag)


def fetch(host: Host, url: str, sha256: str | None, proxy: Secret | None, tag: str) -> None:
    """Let the machine download an archive, load it, and tag its image.

    :raises CommandFailed: with the cause
    """
    request = {"url": url, "sha256": sha256, "proxy": proxy.reveal() if proxy else None}
    stdin = Secret(json.dumps({key: value for key, value in request.items() if value}))
    output = host.sudo("python3", "-c", _FETCH, stdin=stdin, timeout=_TRANSFER_LIMIT)
    name = output.rstrip().rpartition("\n")[2].partition(": ")[2]  # Loaded image: NAME
    host.sudo("docker", "tag", answers.checked(name, answers.IMAGE, "the name of an image"), tag)


def pull(host: Host, reference: str) -> None:
    host.sudo("docker", "pull", "--quiet", reference, timeout=_TRANSFER_LIMIT)


def inspect_container(host: Host, name: str) -> dict[str, Any] | None:
    """Inspect a container; None if it does not exist."""
    result = host.ask("docker", "container", "inspect", name)
    containers: list[dict[str, Any]] = json.loads(result.stdout) if result.ok else []
    return containers[0] if containers else None
