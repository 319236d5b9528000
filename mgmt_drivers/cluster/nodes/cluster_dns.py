"""The pods of CoreDNS, as kubeadm deploys it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.machine import answers
from mgmt_drivers.machine.host import Host

_NAMESPACE = "kube-system"
_IN_ITS_NAMESPACE = ("--namespace", _NAMESPACE)
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
    found = kubectl.get(host, "pods", *_IN_ITS_NAMESPACE, *_SELECTOR)
    return [
        DnsPod(
            answers.checked(pod["metadata"]["name"], answers.NODE, "a pod's name"),
            pod["spec"].get("nodeName", ""),
            "; ".join([kubectl.state_of(pod), *_waiting(pod)]),
        )
        for pod in found["items"]
        if not pod["metadata"].get("deletionTimestamp")
    ]


def read_last_line(host: Host, pod: DnsPod) -> str:
    """Read the last line of a pod's log, which may tell why the pod is not ready."""
    return kubectl.read_last_line(host, pod.name, _NAMESPACE)


def delete(host: Host, names: Sequence[str]) -> None:
    """Delete pods; their ReplicaSet makes others."""
    kubectl.delete(host, "pod", *names, namespace=_NAMESPACE)


def _waiting(pod: Mapping[str, Any]) -> Iterator[str]:
    """The reasons why containers of a pod wait."""
    for container in pod["status"].get("containerStatuses", ()):
        if waiting := container.get("state", {}).get("waiting"):
            yield f"{waiting.get('reason', 'unknown')}: {waiting.get('message', '')}"
