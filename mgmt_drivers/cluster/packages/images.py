"""The images that Kubernetes itself is made of."""

from collections.abc import Sequence

from mgmt_drivers.cluster.addons import addons
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.errors import CommandFailed, RegistryError
from mgmt_drivers.machine.host import Host

_ON_EVERY_NODE = ("kube-proxy", "pause")
_DNS = "coredns"
_ETCD = "etcd"
_ABSENT = ("not found", "manifest unknown", "repository name not known")


def find_missing(host: Host, cluster: Cluster, with_pod_network: bool = True) -> list[str]:
    """Find the images that the machine needs and lacks, perhaps without the pod network's."""
    wanted = of_role(kubeadm.list_images(host, cluster), cluster.is_control_plane(host))
    wanted += addons.images(cluster.params, with_pod_network)
    return cluster.runtime.find_missing(host, wanted)


def of_role(listed: Sequence[str], is_control_plane: bool) -> list[str]:
    return [i for i in listed if is_control_plane or _short(i) in _ON_EVERY_NODE]


def has_dns(host: Host, cluster: Cluster) -> bool:
    return not any(_short(image) == _DNS for image in find_missing(host, cluster))


def find_etcd(host: Host, cluster: Cluster) -> str:
    """Find the reference of etcd's image, which control-plane nodes have."""
    found = [i for i in kubeadm.list_images(host, cluster) if _short(i) == _ETCD]
    if not found:
        raise RegistryError("kubeadm lists no image of etcd")
    return found[0]


def may_be_absent(image: str) -> bool:
    """Whether a cluster can be without it: CoreDNS is an add-on."""
    return _short(image) == _DNS


def is_absent(error: CommandFailed) -> bool:
    """Whether a pull failed because the repository answers that it has no such image."""
    return any(text in error.tail.lower() for text in _ABSENT)


def _short(image: str) -> str:
    return image.rpartition("/")[2].partition(":")[0]
