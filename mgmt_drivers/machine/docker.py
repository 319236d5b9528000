"""The Docker engine of a machine, through its command line."""

import contextlib
import ipaddress
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mgmt_drivers import grammar
from mgmt_drivers.clock import NotYet
from mgmt_drivers.errors import MachineUnfit, WaitTimeout
from mgmt_drivers.machine import answers, downloads, facts, files
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.params.proxy import Proxy

CONFIG = "/etc/docker/daemon.json"
_NETWORK_KEYS = {"bip", "bridge", "default-address-pools"}  # of the file
# Ends of the private blocks and of the block for benchmarks (RFC 1918, 2544), which few use.
_NETWORKS = ("172.31.255.0/24", "192.168.255.0/24", "10.255.255.0/24", "198.19.255.0/24")
_START_LIMIT = 120.0  # seconds for the engine to answer
_RELOADS, _RELOAD_LIMIT = 6, 20.0  # number of reloads, and seconds for each to take effect
_HAS_PROGRAMS = Script(__package__, "has-program")
_TRANSFER_LIMIT = 1800.0  # seconds to load or pull an image


def choose_network(host: Host, others: Sequence[ipaddress.IPv4Network] = ()) -> None:
    """Give the engine's bridge a network, before the engine is installed.

    The engine would take 172.17.0.0/16, if only no interface of the machine has it: whoever logs in
    from there would get no answer any more. What the image has chosen stays.

    :param others: networks to which the machine has no routes yet
    """
    config = files.read_json(host, CONFIG)
    if _NETWORK_KEYS & config.keys():
        return
    routes: list[dict[str, Any]] = json.loads(host.run("ip", "-json", "-4", "route", "show"))
    used = [*others, *map(ipaddress.IPv4Network, facts.gather(host).peers)]
    for destination in (str(route.get("dst")) for route in routes):
        prefix = "" if "/" in destination else "/32"
        used += filter(None, [grammar.ipv4_network(destination + prefix)])
    for network in map(ipaddress.IPv4Network, _NETWORKS):
        if not any(network.overlaps(other) for other in used):
            bip = f"{network[1]}/{network.prefixlen}"
            files.write(host, CONFIG, json.dumps({**config, "bip": bip}, indent=2) + "\n")
            return
    raise MachineUnfit(
        f"the machine has routes to all of {', '.join(_NETWORKS)}: name a network for Docker's "
        f"bridge in {CONFIG} of the image (bip)"
    )


def wait_for_engine(host: Host) -> None:
    words = ("docker", "version", "--format", "{{.Server.Version}}")
    host.ask_until_ok(*words, within=_START_LIMIT, what="the Docker engine")


def reload_plain_http(host: Host, registries: Sequence[str]) -> None:
    """Wait until the engine uses plain HTTP for registries, as its configuration says.

    The engine reads its configuration some time after the signal of a reload, and loses a signal
    that arrives while it starts: then the reload is repeated.
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
    return host.ask(*_HAS_PROGRAMS.command("docker", "dockerd")).ok


def has_image(host: Host, reference: str) -> bool:
    return host.ask("docker", "image", "inspect", "--format", "{{.Id}}", reference).ok


def load(host: Host, archive: Path, reference: str, tag: str) -> None:
    """Stream an archive to the machine, load it, and tag its image ``reference`` as ``tag``."""
    host.sudo("docker", "load", "--quiet", stdin=archive, timeout=_TRANSFER_LIMIT)
    host.sudo("docker", "tag", reference, tag)


def fetch(host: Host, url: str, sha256: str | None, proxy: Proxy | None, tag: str) -> None:
    """Let the machine download an archive, load it, and tag its image; raises CommandFailed."""
    output = downloads.fetch(host, url, sha256, proxy, "docker", "load", "--quiet")
    name = output.rstrip().rpartition("\n")[2].partition(": ")[2]  # Loaded image: NAME
    host.sudo("docker", "tag", answers.checked(name, answers.IMAGE, "the name of an image"), tag)


def pull(host: Host, reference: str, config_folder: str = "") -> None:
    """Pull an image, perhaps with the logins of the config.json in a folder of the machine."""
    config = ("--config", config_folder) if config_folder else ()
    host.sudo("docker", *config, "pull", "--quiet", reference, timeout=_TRANSFER_LIMIT)


def inspect_container(host: Host, name: str) -> dict[str, Any] | None:
    """Inspect a container; None if it does not exist."""
    result = host.ask("docker", "container", "inspect", name)
    containers = json.loads(result.stdout) if result.ok else []
    return containers[0] if containers else None
