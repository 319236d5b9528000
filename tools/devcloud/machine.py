"""Containers that behave like machines: systemd as first process, own addresses."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import docker

from tools.devcloud.errors import CloudError

_STOP_SIGNAL = "SIGRTMIN+3"  # what systemd takes as "power off"


@dataclass(frozen=True)
class Attachment:
    """One network interface of a machine; ``mac`` None lets Docker choose."""

    docker_network: str
    address: str
    mac: str | None = None


@dataclass(frozen=True)
class Machine:
    """A machine to be made. ``disks`` are folders that need a real file system."""

    name: str
    hostname: str
    image: str
    labels: dict[str, str]
    attachments: Sequence[Attachment]
    disks: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    binds: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    archive: bytes = b""  # a tar archive, laid over the image before the machine starts


def create(client: docker.DockerClient, machine: Machine) -> str:
    """Create and start a machine; returns its container's id.

    What was made is removed again when starting it fails or is interrupted.
    """
    api = client.api
    first, *others = machine.attachments
    created = api.create_container(
        machine.image,
        name=machine.name,
        hostname=machine.hostname,
        labels=machine.labels,
        volumes=list(machine.disks),
        environment=machine.environment,
        stop_signal=_STOP_SIGNAL,
        host_config=_host_config(api, machine, first.docker_network),
        networking_config=api.create_networking_config(
            {first.docker_network: _endpoint(api, first)}
        ),
        mac_address=first.mac,
    )
    try:
        for attachment in others:
            client.networks.get(attachment.docker_network).connect(
                created["Id"], ipv4_address=attachment.address
            )
        if machine.archive:
            api.put_archive(created["Id"], "/", machine.archive)
        api.start(created["Id"])
    except BaseException:
        api.remove_container(created["Id"], force=True, v=True)
        raise
    return str(created["Id"])


def _endpoint(api: Any, attachment: Attachment) -> Any:
    return api.create_endpoint_config(ipv4_address=attachment.address)


def _host_config(api: Any, machine: Machine, network: str) -> Any:
    config = api.create_host_config(
        network_mode=network,
        binds=list(machine.binds),
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
