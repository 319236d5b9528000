"""Preflight of an upgrade: refuse it before anything changes."""

from collections.abc import Iterator

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.etcd.etcd import HEALTHY, NO_SPACE, EtcdStatus
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.cluster.modification import NAME
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.series import read_version, skew
from mgmt_drivers.engine.phase import Check
from mgmt_drivers.errors import ClusterError, MachineUnfit
from mgmt_drivers.machine.host import Host

_VERSION = f"{NAME}.kubernetes_version"
_FREE = 2048  # MiB, for images, packages and the copy of etcd's data that kubeadm makes
_PLACES = ("/var/lib", "/etc/kubernetes")
_FIRST_WITH_3_6 = 34  # minor version of Kubernetes whose kubeadm brings etcd 3.6
# From this release on etcd 3.5 keeps where 3.6 reads it that a learner has become a voter
# (etcd-io/etcd#20793). Since 1.29 members begin as learners.
_KEEPS_VOTES = (3, 5, 24)


class CheckCluster(Check[Cluster]):
    """Check the skew of versions, that all nodes are ready, and that etcd is healthy.

    :param is_upgrade: false: no version changes, and no upgrade may be half-way
    """

    title = "check the cluster"

    def __init__(self, etcd: EtcdStatus, is_upgrade: bool = True) -> None:
        self._etcd, self._is_upgrade = etcd, is_upgrade

    def check(self, host: Host, cluster: Cluster) -> None:
        reasons = [
            *_find_wrong_versions(host, cluster, self._is_upgrade),
            *_find_faults_of_etcd(self._etcd, cluster),
            *_find_lost_votes(host, self._etcd, cluster),
        ]
        if reasons:
            raise ClusterError(
                f"the cluster cannot be changed now, nothing was changed: {'; '.join(reasons)}"
            )


def _find_wrong_versions(host: Host, cluster: Cluster, is_upgrade: bool) -> Iterator[str]:
    nodes = kubectl.list_nodes(host)
    releases = {"the cluster": kubeadm.read_cluster_release(host)}
    for name in map(cluster.topology.name, cluster.topology.nodes):
        node = nodes.get(name)
        if node is None or not kubectl.is_ready(node):
            yield f"{name} is not ready: {kubectl.state_of(node)}. Heal the machine first"
        else:
            releases[name] = kubectl.kubelet_release(node)
    for name, release in releases.items():
        current = read_version(release)
        reason = skew(current, cluster.params.version) if current else "an unknown series"
        if not is_upgrade and current and current.series != cluster.params.series:
            reason = f"the upgrade to {cluster.params.version} has not ended: repeat its request"
        if reason:
            yield f"{_VERSION}: {name} has {release}: {reason}"


def _find_faults_of_etcd(status: EtcdStatus, cluster: Cluster) -> Iterator[str]:
    if alarms := status.describe_alarms(besides=NO_SPACE):  # which the upgrade ends
        yield alarms
    for member in status.members:
        if (state := status.state(member)) != HEALTHY:
            yield f"etcd's member {member} is not a healthy voter ({state}). Heal its machine first"
    lacking = len(cluster.control_plane) - len(status.members)
    if lacking > 0:
        yield f"etcd lacks {lacking} of {len(cluster.control_plane)} members"


def _find_lost_votes(host: Host, status: EtcdStatus, cluster: Cluster) -> Iterator[str]:
    """Find members whose votes etcd 3.6 may not know, unless the upgrade to 3.6 has begun."""
    before, after = read_version(kubeadm.read_cluster_release(host)), cluster.params.series
    begins = before and before.series.minor < _FIRST_WITH_3_6 <= after.minor
    has_begun = any(release >= (3, 6) for release in status.releases.values())
    if not begins or has_begun or len(status.members) < 2:
        return
    for member in status.members:
        release = status.releases.get(member.id, _KEEPS_VOTES)
        if release < _KEEPS_VOTES:
            yield (
                f"etcd's member {member} has etcd {'.'.join(map(str, release))}, of whose voters "
                "etcd 3.6 may take some for learners, and not start. Upgrade to the newest release "
                f"of 1.{_FIRST_WITH_3_6 - 1} first"
            )


class CheckMachines(Check[Cluster]):
    """Check each machine's disk space, and that the new kubelet starts on it."""

    title = "check the machines"

    def check(self, host: Host, cluster: Cluster) -> None:
        kubeadm.check_kubelet_starts(host, cluster)
        shown = host.run("df", "--output=avail", "--block-size=1M", *_PLACES).split()[1:]
        for place, free in zip(_PLACES, shown, strict=True):
            if not free.isdecimal() or int(free) < _FREE:
                raise MachineUnfit(
                    f"{place} has {free[:20]} MiB free, and an upgrade needs {_FREE}: remove what "
                    "nobody needs, or heal the machine with a flavor that has a larger disk"
                )
