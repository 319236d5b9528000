"""The pods of CoreDNS, as kubeadm deploys it."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.machine import answers
from mgmt_drivers.machine.host import Host

NAMESPACE = "kube-system"
_SELECTOR = ("--selector", "k8s-app=kube-dns")


class DnsPod(NamedTuple):
    """A pod of cluster DNS; ``node`` is empty until the pod is scheduled."""

    name: str
    node: str
    state: str  # as kubectl.state_of tells it, with the reason why a container waits

    @property
    def is_ready(self) -> bool:
        return self.state == kubectl.READY


def list_pods(host: Host) -> list[DnsPod]:
    """Ask for the pods of cluster DNS that are not about to end.

    A cluster without DNS has none.
    """
    found = kubectl.list_objects(host, "pods", "--namespace", NAMESPACE, *_SELECTOR)
    return [
        DnsPod(
            answers.checked(pod["metadata"]["name"], answers.NODE, "a pod's name"),
            pod["spec"].get("nodeName", ""),
            "; ".join([kubectl.state_of(pod), *_waiting(pod)]),
        )
        for pod in found
        if not pod["metadata"].get("deletionTimestamp")
    ]


def _waiting(pod: Mapping[str, Any]) -> Iterator[str]:
    for container in pod["status"].get("containerStatuses", ()):
        if waiting := container.get("state", {}).get("waiting"):
            yield f"{waiting.get('reason', 'unknown')}: {waiting.get('message', '')}"
