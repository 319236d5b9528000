"""The configuration of the cloud, and connections to its APIs."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import openstack
from keystoneauth1.exceptions import MissingRequiredOptions
from openstack.connection import Connection
from tackerclient.v1_0.client import Client as TackerClient

from mgmt_drivers.cluster.series import DEFAULT_VERSION
from tools.client.errors import ClientError

CHECKOUT = Path(__file__).resolve().parents[2]
# A service may close a connection that it has kept open, just when it is used again.
_RETRIES = 2
T = TypeVar("T")


class _Variable(Generic[T]):
    """An environment variable, read each time: a tool may set it for itself."""

    def __init__(self, name: str, default: T, kind: Callable[[str], T]) -> None:
        self._name, self._default, self._kind = name, default, kind

    def __get__(self, instance: object, owner: type) -> T:
        value = os.environ.get(self._name)
        return self._default if value is None else self._kind(value)


class CloudConfig:
    """Names of resources of the cloud, and folders; FUNCTIONAL_* variables change them."""

    # Network of the machines, which Tacker and the scenarios reach.
    network = _Variable("FUNCTIONAL_NETWORK", "public", str)
    # Network of machines with floating IPs of the external network.
    tenant_network = _Variable("FUNCTIONAL_TENANT_NETWORK", "private", str)
    external_network = _Variable("FUNCTIONAL_EXTERNAL_NETWORK", "public", str)
    # Flavor of test machines.
    flavor = _Variable("FUNCTIONAL_FLAVOR", "k8s.small", str)
    # The image of the packages, and one with Docker preinstalled.
    node_image = "node-debian-13"
    docker_image = _Variable("FUNCTIONAL_DOCKER_IMAGE", "node-debian-13-docker", str)
    # An image with the packages of a cluster, for scenarios that do not test their installation;
    # empty: these scenarios use the image of the VNF packages.
    prepared_image = _Variable("FUNCTIONAL_PREPARED_IMAGE", "", str)
    # An image of the newest series that administrators have changed in many ways; empty for none.
    rough_image = _Variable("FUNCTIONAL_ROUGH_IMAGE", "", str)
    # An image with the previous Debian.
    older_image = "node-debian-12"
    # An image whose servers can have volumes.
    vm_image = _Variable("FUNCTIONAL_VM_IMAGE", "vm-debian-12", str)
    # URL of packages and images of Kubernetes (its layout: tools/devcloud/kubernetes/mirror.sh);
    # empty if machines can reach the servers of the Kubernetes project.
    kubernetes_mirror = _Variable("FUNCTIONAL_KUBERNETES_MIRROR", "", str)
    # A release, or a series, which stands for its newest release.
    kubernetes_version = _Variable("FUNCTIONAL_KUBERNETES_VERSION", str(DEFAULT_VERSION), str)
    # Shell command that kills tacker-conductor, which the cloud then restarts.
    kill_conductor = _Variable("FUNCTIONAL_KILL_CONDUCTOR", "", str)
    # Shell command that starts a conductor, kills it until it is started, or shows its log; its
    # arguments are start, kill or log, and the conductor's number, 1 or 2.
    conductors = _Variable("FUNCTIONAL_CONDUCTORS", "", str)
    # Shell commands, a line each, that kill a service of the cloud, which the cloud then restarts.
    kill_services = _Variable("FUNCTIONAL_KILL_SERVICES", "", str)
    # Whether Tacker's host has Helm, which the v2 API runs there.
    helm_on_tacker = _Variable("FUNCTIONAL_HELM_ON_TACKER", False, lambda value: value == "1")
    # Shell command that shows the drivers' trace of a VNF instance; its argument is the id.
    show_trace = _Variable("FUNCTIONAL_SHOW_TRACE", "", str)
    # Shell command that shows the log of tacker-conductor.
    show_log = _Variable("FUNCTIONAL_SHOW_LOG", "", str)
    # Command for ovn-trace on this cloud, if the cloud uses OVN.
    ovn_trace = _Variable("FUNCTIONAL_OVN_TRACE", "", str)
    # Shell command that tells of packets which security groups do not let leave their machines; its
    # argument is start, stop, or show: a line for each packet since the start, as OVN logs it.
    refused_packets = _Variable("FUNCTIONAL_REFUSED_PACKETS", "", str)
    # Shell command that runs the gate's playbooks on this cloud; its arguments are their names.
    playbooks = _Variable("FUNCTIONAL_PLAYBOOKS", "", str)
    # Folder from which the cloud's Prometheus and Alertmanager read the files that k8s-vnf
    # monitoring writes, and URL of this Prometheus; empty if the cloud has none.
    monitoring = _Variable("FUNCTIONAL_MONITORING", "", str)
    prometheus = _Variable("FUNCTIONAL_PROMETHEUS", "", str)
    # Shell command that lets promtool test rules; its argument is a file in the folder above.
    test_rules = _Variable("FUNCTIONAL_TEST_RULES", "", str)
    username = _Variable("FUNCTIONAL_USERNAME", "ubuntu", str)
    password = _Variable("FUNCTIONAL_PASSWORD", "ubuntu", str)
    logs = _Variable("FUNCTIONAL_LOGS", CHECKOUT / "build" / "logs", Path)
    # Whether the scenarios record the outputs that the guide shows.
    record = _Variable("FUNCTIONAL_RECORD", False, lambda value: value == "1")
    # File to which each scenario that passed adds its name; empty for none.
    passed = _Variable("FUNCTIONAL_PASSED", "", str)
    build = _Variable("FUNCTIONAL_BUILD", CHECKOUT / "build", Path)


CONFIG = CloudConfig()


def cloud() -> Connection:
    """The cloud that OS_CLOUD or the OS_* variables name.

    :raises ClientError: if they name none
    """
    try:
        return openstack.connect(connect_retries=_RETRIES)
    except MissingRequiredOptions as error:
        raise ClientError(
            f"no cloud is chosen by OS_CLOUD or OS_* ({error}); on the embedded cloud run "
            'eval "$(k8s-vnf cloud openrc)"'
        ) from error


def tacker(connection: Connection, version: str = "1") -> TackerClient:
    """A client of Tacker's API on a cloud.

    :param version: version of the LCM API
    """
    return TackerClient(
        api_version=version,
        session=connection.session,
        service_type="nfv-orchestration",
        region_name=connection.config.get_region_name() or None,
        connect_retries=_RETRIES,
    )
