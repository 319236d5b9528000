"""Containers that behave like machines: systemd as first process, own addresses."""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker

from tools.devcloud.errors import CloudError

_STOP_SIGNAL = "SIGRTMIN+3"  # what systemd takes as "power off"
# The host's tree of cgroup v1's freezer, as the host and the controller see it. No mount of the
# tree in the controller: libvirt there would take the tree for its own.
_FREEZERS = ("/sys/fs/cgroup/freezer", "/hostproc/1/root/sys/fs/cgroup/freezer")
_REMOVALS = 5  # how often Docker is asked to remove a container


@dataclass(frozen=True)
class Attachment:
    """One network interface of a machine."""

    docker_network: str
    address: str


@dataclass(frozen=True)
class Machine:
    """A machine to be made.

    ``disks`` are folders that need a real file system. Without ``attachment`` the machine has no
    network until somebody gives it interfaces. ``cpu_shares`` is its weight among the machines
    that want the CPUs at the same time; 1024 is that of others.
    """

    name: str
    hostname: str
    image: str
    labels: dict[str, str]
    attachment: Attachment | None = None
    disks: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    binds: tuple[str, ...] = ()
    nameservers: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    cpu_shares: int = 1024
    archive: bytes = b""  # a tar archive, laid over the image before the machine starts


def create(client: docker.DockerClient, machine: Machine) -> str:
    """Create a machine, which does not run yet; returns its container's id."""
    api = client.api
    network = machine.attachment.docker_network if machine.attachment else "none"
    created = api.create_container(
        machine.image,
        name=machine.name,
        hostname=machine.hostname,
        labels=machine.labels,
        volumes=list(machine.disks),
        environment=machine.environment,
        stop_signal=_STOP_SIGNAL,
        tty=True,  # the console, whose output is the container's log
        host_config=_host_config(api, machine, network),
        networking_config=_networking(api, machine.attachment),
    )
    try:
        if machine.archive:
            api.put_archive(created["Id"], "/", machine.archive)
    except BaseException:
        api.remove_container(created["Id"], force=True, v=True)
        raise
    return str(created["Id"])


def remove(container: Any, freezers: Sequence[str] = _FREEZERS) -> None:
    """Remove a machine's container, which may be gone already.

    Docker kills runc in the machine, too. If runc had just frozen a pod, nobody thaws the pod any
    more, and Docker fails: processes that cgroup v1 has frozen do not die of a signal (those of
    cgroup v2 do). They are thawed after the failure, because a runc that lives may freeze others.
    On busy CPUs a machine may also need longer than the 12 seconds that Docker gives it to die.
    """
    for attempt in range(_REMOVALS):
        try:
            container.remove(force=True, v=True)
        except docker.errors.NotFound:
            return
        except docker.errors.APIError:
            if attempt == _REMOVALS - 1:
                raise
            for freezer in freezers:
                _thaw(freezer, container.id)
        else:
            return


def _thaw(freezer: str, container: str) -> None:
    for folder, _, files in os.walk(freezer):
        if container in folder and "freezer.state" in files:
            with contextlib.suppress(OSError):  # the cgroup may go at this moment
                Path(folder, "freezer.state").write_text("THAWED")


def _networking(api: Any, attachment: Attachment | None) -> Any:
    if attachment is None:
        return None
    endpoint = api.create_endpoint_config(ipv4_address=attachment.address)
    return api.create_networking_config({attachment.docker_network: endpoint})


def _host_config(api: Any, machine: Machine, network: str) -> Any:
    config = api.create_host_config(
        network_mode=network,
        binds=list(machine.binds),
        dns=list(machine.nameservers) or None,
        cpu_shares=machine.cpu_shares,
        cap_add=["ALL"],
        cap_drop=list(machine.drop_capabilities),
        cgroupns="private",
        security_opt=["seccomp=unconfined", "apparmor=unconfined"],
        device_cgroup_rules=["a *:* rwm"],
        tmpfs={"/tmp": "exec", "/run": "", "/run/lock": ""},  # noqa: S108 - as on any machine
    )
    # The API's form of `--security-opt systempaths=unconfined`.
    config["MaskedPaths"] = []
    config["ReadonlyPaths"] = []
    return config


def capabilities_to_drop(client: docker.DockerClient, image: str) -> tuple[str, ...]:
    """Which capabilities this host cannot give to a container.

    A container is started to find out: the engine may have fewer than this process.
    """
    refusal = None
    for dropped in ((), ("SYS_RESOURCE",)):
        probe = client.containers.create(
            image,
            command=["true"],
            entrypoint=[],
            cap_add=["ALL"],
            cap_drop=list(dropped),
            network_mode="none",
        )
        try:
            probe.start()
        except docker.errors.APIError as error:
            refusal = error
        else:
            return dropped
        finally:
            probe.remove(force=True)
    raise CloudError(f"this host's Docker engine cannot run the nodes: {refusal}")
