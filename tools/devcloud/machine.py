"""Containers that behave like machines: systemd as first process, own addresses."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import docker

from tools.devcloud.errors import CloudError

_STOP_SIGNAL = "SIGRTMIN+3"  # what systemd takes as "power off"
_ATTEMPTS = 5  # how often Docker is asked to end a container
_THAW = 'for state; do echo THAWED >"$state"; done'


@dataclass(frozen=True)
class Machine:
    """A machine to be made.

    ``disks`` are folders that need a real file system. ``network`` is one of Docker's, in which the
    machine has the ``address``; without both it has no network until somebody gives it interfaces.
    ``cpu_shares`` is its weight among the machines that want the CPUs at the same time; 1024 is
    that of others.
    """

    name: str
    hostname: str
    image: str
    labels: dict[str, str]
    network: str = "none"
    address: str = ""
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
    created = api.create_container(
        machine.image,
        name=machine.name,
        hostname=machine.hostname,
        labels=machine.labels,
        volumes=list(machine.disks),
        environment=machine.environment,
        stop_signal=_STOP_SIGNAL,
        tty=True,  # the console, whose output is the container's log
        host_config=_host_config(api, machine),
        networking_config=_networking(api, machine),
    )
    try:
        if machine.archive:
            api.put_archive(created["Id"], "/", machine.archive)
    except BaseException:
        api.remove_container(created["Id"], force=True, v=True)
        raise
    return str(created["Id"])


def stop(container: Any, seconds: int) -> None:
    """End a machine, which has so many seconds to shut down."""
    _insist(container, lambda: container.stop(timeout=seconds))


def remove(container: Any) -> None:
    """Remove a machine's container, which may be gone already."""
    with contextlib.suppress(docker.errors.NotFound):
        _insist(container, lambda: container.remove(force=True, v=True))


def _insist(container: Any, act: Callable[[], None]) -> None:
    """Ask Docker to end a machine until it does.

    Docker kills runc in the machine, too. If runc had just frozen a pod, nobody thaws the pod any
    more, and Docker fails: processes that cgroup v1 has frozen do not die of a signal (those of
    cgroup v2 do). They are thawed after the failure, because a runc that lives may freeze others.
    On busy CPUs a machine may also need longer than the 12 seconds that Docker gives it to die.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            act()
        except docker.errors.NotFound:
            raise
        except docker.errors.APIError:
            _thaw(container)
        else:
            return
    act()


def _thaw(container: Any) -> None:
    """Thaw what is frozen in a machine.

    Only the host has the cgroups of all. A container that gets them for a moment sees them from
    the controller, too, where libvirt would take a mount of them for its own.
    """
    words = ["/cgroup", "-path", f"*{container.id}*", "-name", "freezer.state"]
    words += ["-exec", "sh", "-c", _THAW, "thaw", "{}", "+"]
    with contextlib.suppress(docker.errors.DockerException):  # a cgroup may go at this moment
        container.client.containers.run(
            container.attrs["Image"],
            words,
            entrypoint=["find"],
            mounts=[docker.types.Mount("/cgroup", "/sys/fs/cgroup", type="bind")],
            network_mode="none",
            remove=True,
            security_opt=["apparmor=unconfined"],
        )


def _networking(api: Any, machine: Machine) -> Any:
    if not machine.address:
        return None
    endpoint = api.create_endpoint_config(ipv4_address=machine.address)
    return api.create_networking_config({machine.network: endpoint})


def _host_config(api: Any, machine: Machine) -> Any:
    config = api.create_host_config(
        network_mode=machine.network,
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
