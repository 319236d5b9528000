"""Whether an apiserver is ready, asked from a master."""

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubeadm, kubectl
from mgmt_drivers.kube.cluster import API_PORT
from mgmt_drivers.ssh import wait


class NotReady(MgmtDriverError):
    """A master belongs to the cluster, but its apiserver is not ready."""


def check_master(host: Host) -> None:
    """
    :raises NotAMember: when the machine has not become part of its cluster
    :raises NotReady: with what its apiserver says
    """
    kubeadm.check_member(host)
    reason = kubectl.unreadiness(host)
    if reason:
        raise NotReady(f"the master's apiserver is not ready: {reason}")


def await_api(host: Host, address: str, limit: float, port: int = API_PORT) -> None:
    """Wait until the API at an address says that it is ready (its /readyz)."""
    url = f"https://{address}:{port}"

    def answers() -> None:
        reason = kubectl.unreadiness(host, url)
        if reason:
            raise wait.NotYet(reason)

    wait.until(answers, limit, f"the API at {url}")
