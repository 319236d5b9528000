"""What the scenarios must be told of the cloud they run against."""

import os
from dataclasses import dataclass
from pathlib import Path

import openstack
from openstack.connection import Connection
from tackerclient.v1_0.client import Client as TackerClient

HERE = Path(__file__).parent


@dataclass(frozen=True)
class CloudConfig:
    """Names of what the cloud must have; set by FUNCTIONAL_* variables."""

    network: str = os.environ.get("FUNCTIONAL_NETWORK", "net0")
    # Network of floating IPs.
    external_network: str = os.environ.get("FUNCTIONAL_EXTERNAL_NETWORK", "net0")
    flavor: str = os.environ.get("FUNCTIONAL_FLAVOR", "m1.small")
    # An image like that of the packages, with Docker preinstalled.
    docker_image: str = os.environ.get("FUNCTIONAL_DOCKER_IMAGE", "node-debian-12-docker")
    # An image whose servers can have volumes.
    vm_image: str = os.environ.get("FUNCTIONAL_VM_IMAGE", "vm-debian-12")
    # URL of packages and images of Kubernetes (its layout: tools/devcloud/kubernetes/mirror.sh);
    # empty where machines reach the Kubernetes project's own.
    kubernetes_mirror: str = os.environ.get("FUNCTIONAL_KUBERNETES_MIRROR", "")
    kubernetes_version: str = os.environ.get("FUNCTIONAL_KUBERNETES_VERSION", "1.20.2")
    # Shell command that kills tacker-conductor, which something starts again.
    kill_conductor: str = os.environ.get("FUNCTIONAL_KILL_CONDUCTOR", "")
    # Tacker's option [mgmt_drivers] ssh_timeout.
    ssh_timeout: int = int(os.environ.get("FUNCTIONAL_SSH_TIMEOUT", "600"))
    username: str = os.environ.get("FUNCTIONAL_USERNAME", "ubuntu")
    password: str = os.environ.get("FUNCTIONAL_PASSWORD", "ubuntu")
    logs: Path = Path(os.environ.get("FUNCTIONAL_LOGS", HERE / "logs"))
    build: Path = Path(os.environ.get("FUNCTIONAL_BUILD", HERE.parent / "build"))


CONFIG = CloudConfig()


def cloud() -> Connection:
    """The cloud that OS_CLOUD or the OS_* variables name."""
    return openstack.connect()


def tacker(connection: Connection) -> TackerClient:
    """Tacker's v1 API on that cloud."""
    return TackerClient(
        api_version="1",
        session=connection.session,
        service_type="nfv-orchestration",
        region_name=connection.config.get_region_name() or None,
    )
