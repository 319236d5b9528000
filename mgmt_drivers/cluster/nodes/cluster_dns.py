"""The pods of CoreDNS, as kubeadm deploys it."""

from collections.abc import Sequence
from typing import NamedTuple

from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.machine import answers
from mgmt_drivers.machine.host import Host

_IN_ITS_NAMESPACE = ("--namespace", "kube-system")
_SELECTOR = ("--selector", "k8s-app=kube-dns")


class DnsPod(NamedTuple):
    name: str
    node: str
    is_ready: bool


def pods(host: Host) -> list[DnsPod]:
    """Ask for the pods of cluster DNS that have a node and are not about to end.

    A cluster without DNS has none.
    """
    found = kubectl.get(host, "pods", *_IN_ITS_NAMESPACE, *_SELECTOR)
    return [
        DnsPod(
            answers.checked(pod["metadata"]["name"], answers.NODE, "a pod's name"),
            pod["spec"]["nodeName"],
            kubectl.is_ready(pod),
        )
        for pod in found["items"]
        if pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
    ]


def delete(host: Host, names: Sequence[str]) -> None:
    """Delete pods; their ReplicaSet makes others."""
    kubectl.delete(host, "pod", *names, namespace="kube-system")
