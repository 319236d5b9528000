"""The images that Kubernetes itself is made of."""

from mgmt_drivers.errors import CommandFailed
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubeadm
from mgmt_drivers.kube.cluster import Cluster

_ON_EVERY_NODE = ("kube-proxy", "pause")
_DNS = "coredns"
_ABSENT = ("not found", "manifest unknown", "repository name not known")


def of_machine(host: Host, cluster: Cluster) -> list[str]:
    """References of what this machine runs."""
    listed = kubeadm.images(host, cluster)
    if cluster.is_master(host.node):
        return listed
    return [image for image in listed if _short(image) in _ON_EVERY_NODE]


def missing(host: Host, cluster: Cluster) -> list[str]:
    """Those of them that the machine does not have yet."""
    return [i for i in of_machine(host, cluster) if not cluster.runtime.has(host, i)]


def has_dns(host: Host, cluster: Cluster) -> bool:
    return not any(_short(image) == _DNS for image in missing(host, cluster))


def may_be_absent(image: str) -> bool:
    """Whether a cluster can be without it: CoreDNS is an add-on."""
    return _short(image) == _DNS


def is_absent(error: CommandFailed) -> bool:
    """Whether a pull failed because the repository answers that it has no such image."""
    return any(text in error.tail.lower() for text in _ABSENT)


def _short(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[0]
