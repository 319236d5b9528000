"""Make the control plane on its first master."""

import logging

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import images, kubeadm
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase
from mgmt_drivers.ssh import wait

LOG = logging.getLogger(__name__)

_VIP_LIMIT = 60.0  # seconds for a master to take the virtual IP
# Where the kernel does not let a machine set these (a container), kube-proxy would
# fail to: writing the value back that is there tells.
_SETS_CONNTRACK = """
for name in /proc/sys/net/netfilter/nf_conntrack_max /sys/module/nf_conntrack/parameters/hashsize
do
    value=$(cat "$name") && printf '%s' "$value" >"$name" || exit 1
done
"""


class InitControlPlane(Phase[Cluster]):
    """Skipped as soon as any master is a member."""

    title = "make the control plane"

    def needed(self, host: Host, context: Cluster) -> bool:
        return host is context.lead and context.name(host.node) not in context.members

    def apply(self, host: Host, context: Cluster) -> None:
        if context.topology.virtual:
            _await_virtual_ip(host, context)
        with_dns = images.has_dns(host, context)
        if not with_dns:
            LOG.warning("the cluster gets no DNS: the image repository has no CoreDNS")
        sets_conntrack = host.ask("sh", "-c", _SETS_CONNTRACK).ok
        kubeadm.init(host, context, with_dns=with_dns, sets_conntrack=sets_conntrack)
        context.members.add(context.name(host.node))


def _await_virtual_ip(host: Host, cluster: Cluster) -> None:
    target = f"{cluster.topology.address}/{cluster.topology.port}"

    def answers() -> None:
        seen = host.ask("timeout", "3", "bash", "-c", f"exec 3<>/dev/tcp/{target}")
        if not seen.ok:
            raise wait.NotYet(seen.stderr.strip() or "no answer")

    wait.until(
        answers,
        _VIP_LIMIT,
        f"virtual IP {cluster.topology.address} (do the masters' ports allow it in "
        "allowed_address_pairs, and the security group VRRP?)",
    )
