"""The configuration of the cloud, and connections to its APIs."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import openstack
from openstack.connection import Connection
from tackerclient.v1_0.client import Client as TackerClient

CHECKOUT = Path(__file__).resolve().parents[2]
T = TypeVar("T")


class _Variable(Generic[T]):
    """An environment variable, read each time: a tool may set it for itself."""

    def __init__(self, name: str, default: T, kind: Callable[[str], T]) -> None:
        self._name, self._default, self._kind = name, default, kind

    def __get__(self, instance: object, owner: type) -> T:
        value = os.environ.get(self._name)
        return self._default if value is None else self._kind(value)


class CloudConfig:
    """Names of what the cloud must have, and folders; FUNCTIONAL_* variables change them."""

    network = _Variable("FUNCTIONAL_NETWORK", "net0", str)
    # Its addresses, in CIDR notation.
    network_cidr = _Variable("FUNCTIONAL_NETWORK_CIDR", "10.10.0.0/24", str)
    # Network of floating IPs.
    external_network = _Variable("FUNCTIONAL_EXTERNAL_NETWORK", "net0", str)
    flavor = _Variable("FUNCTIONAL_FLAVOR", "m1.small", str)
    # An image like that of the packages, with Docker preinstalled.
    docker_image = _Variable("FUNCTIONAL_DOCKER_IMAGE", "node-debian-12-docker", str)
    # An image whose servers can have volumes.
    vm_image = _Variable("FUNCTIONAL_VM_IMAGE", "vm-debian-12", str)
    # URL of packages and images of Kubernetes (its layout: tools/devcloud/kubernetes/mirror.sh);
    # empty where machines reach the Kubernetes project's own.
    kubernetes_mirror = _Variable("FUNCTIONAL_KUBERNETES_MIRROR", "", str)
    kubernetes_version = _Variable("FUNCTIONAL_KUBERNETES_VERSION", "1.20.2", str)
    # Shell command that kills tacker-conductor, which something starts again.
    kill_conductor = _Variable("FUNCTIONAL_KILL_CONDUCTOR", "", str)
    username = _Variable("FUNCTIONAL_USERNAME", "ubuntu", str)
    password = _Variable("FUNCTIONAL_PASSWORD", "ubuntu", str)
    logs = _Variable("FUNCTIONAL_LOGS", CHECKOUT / "build" / "logs", Path)
    # Whether the scenarios record the outputs that the guide shows.
    record = _Variable("FUNCTIONAL_RECORD", False, lambda value: value == "1")
    build = _Variable("FUNCTIONAL_BUILD", CHECKOUT / "build", Path)


CONFIG = CloudConfig()


def cloud() -> Connection:
    """The cloud that OS_CLOUD or the OS_* variables name."""
    return openstack.connect()


def tacker(connection: Connection, version: str = "1") -> TackerClient:
    """Tacker's API on that cloud; the version is that of lifecycle management."""
    return TackerClient(
        api_version=version,
        session=connection.session,
        service_type="nfv-orchestration",
        region_name=connection.config.get_region_name() or None,
    )
