"""Whether an apiserver is ready, asked from a control-plane node."""

from mgmt_drivers.clock import NotYet
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubeadm, kubectl


def check_control_plane_node(host: Host) -> None:
    """:raises MgmtDriverError: when the machine is no member, or its apiserver is not ready"""
    kubeadm.check_member(host)
    reason = kubectl.unreadiness(host)
    if reason:
        raise MgmtDriverError(f"the node's apiserver is not ready: {reason}")


def wait_for_api(host: Host, address: str, port: int, limit: float) -> None:
    """Wait until the API at an address says that it is ready (its /readyz)."""
    url = f"https://{address}:{port}"

    def ready() -> None:
        reason = kubectl.unreadiness(host, url)
        if reason:
            raise NotYet(reason)

    host.clock.until(ready, limit, f"the API at {url}")
