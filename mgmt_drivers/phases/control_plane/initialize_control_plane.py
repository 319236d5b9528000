"""Initialize the control plane on its first node."""

import logging

from mgmt_drivers.clock import NotYet
from mgmt_drivers.engine.phase import HostPhase, Lanes
from mgmt_drivers.engine.trace import CHANGED, Outcome
from mgmt_drivers.host.host import Host
from mgmt_drivers.host.script import Script
from mgmt_drivers.kube import images, kubeadm
from mgmt_drivers.kube.cluster import Cluster

LOG = logging.getLogger(__name__)

_VIP_LIMIT = 60.0  # seconds for a node to take the virtual IP
# Where the kernel does not let a machine set these (a container), kube-proxy would
# fail to: writing the value back that is there tells.
_SETS_CONNTRACK = Script(
    "set-conntrack",
    """
for name in /proc/sys/net/netfilter/nf_conntrack_max /sys/module/nf_conntrack/parameters/hashsize
do
    value=$(cat "$name") && printf '%s' "$value" >"$name" || exit 1
done
""",
)
_REACH = Script("reach-port", 'exec 3<>"/dev/tcp/$1/$2"', interpreter="bash")


class InitializeControlPlane(HostPhase[Cluster]):
    """Unless it is initialized: then the leader is a member of it."""

    title = "initialize the control plane"

    def select(self, cluster: Cluster) -> Lanes:
        return [] if cluster.has_joined(cluster.leader) else [[cluster.leader]]

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        if cluster.topology.is_balanced:
            _wait_for_virtual_ip(host, cluster)
        with_dns = images.has_dns(host, cluster)
        if not with_dns:
            LOG.warning("the cluster gets no DNS: the image repository has no CoreDNS")
        sets_conntrack = host.ask(*_SETS_CONNTRACK.command()).ok
        kubeadm.init(host, cluster, with_dns=with_dns, sets_conntrack=sets_conntrack)
        return CHANGED


def _wait_for_virtual_ip(host: Host, cluster: Cluster) -> None:
    target = (cluster.topology.address, str(cluster.topology.port))

    def answers() -> None:
        seen = host.ask("timeout", "3", *_REACH.command(*target))
        if not seen.ok:
            raise NotYet(seen.stderr.strip() or "no answer")

    host.clock.until(
        answers,
        _VIP_LIMIT,
        f"virtual IP {cluster.topology.address} (do the masters' ports allow it in "
        "allowed_address_pairs, and the security group VRRP?)",
    )
