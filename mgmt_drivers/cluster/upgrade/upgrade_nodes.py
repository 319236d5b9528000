"""Upgrade nodes, each drained: kubeadm's part, the packages, kubelet."""

from typing import Any

from mgmt_drivers.clock import NotYet
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.hardening import hardening
from mgmt_drivers.cluster.kubeadm import control_plane, kubeadm, kubelet
from mgmt_drivers.cluster.nodes import draining, kubectl
from mgmt_drivers.cluster.packages import node_packages
from mgmt_drivers.cluster.upgrade.releases import predict_release
from mgmt_drivers.engine.phase import HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.setup.trust_certificates import TrustCertificates

_RESTART_LIMIT = 180.0  # seconds
_LIMIT = 300.0  # seconds for kubelet to report itself with its new release
_RESTART = Script(__package__, "restart-kubelet")


class _UpgradeNodes(HostPhase[Cluster]):
    """Drain, upgrade, verify and uncordon a node, unless it has the release.

    A node that fails on the way stays cordoned, by which the next attempt knows it.
    """

    def predict(self, host: Host, cluster: Cluster) -> Prediction:
        node = kubectl.list_nodes(cluster.leader)[cluster.name(host)]
        if kubectl.why_cordoned(node):
            return Prediction(CHANGED, "left cordoned by an upgrade that failed")
        return predict_release(kubectl.kubelet_release(node), cluster)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        leader, name = cluster.leader, cluster.name(host)
        release = kubeadm.read_version(host)
        node = kubectl.list_nodes(leader)[name]
        if kubectl.kubelet_release(node) == release and not kubectl.why_cordoned(node):
            return UNCHANGED
        draining.drain(leader, {name: node}, kubectl.UPGRADE, cluster.params.drain_timeout)
        if cluster.topology.is_ha and cluster.is_control_plane(host):
            kubelet.lead_to_load_balancer(host, cluster, release)
        kubeadm.upgrade_node(host, cluster)
        node_packages.run_script(host, cluster, KUBERNETES_VERSION=release.removeprefix("v"))
        if trusted := cluster.params.ca_certificates:
            TrustCertificates(trusted, [cluster.runtime.service]).step(host, cluster)
        host.sudo(*_RESTART.command(*hardening.RESTRICT.command()), timeout=_RESTART_LIMIT)
        if cluster.is_control_plane(host):
            # A kubelet of another series does this by itself, seconds after its start: the programs
            # that are verified until then are about to end, and the new ones collide with them.
            kubelet.wait_until_it_runs(host)
            control_plane.replace_programs(host, cluster, control_plane.WITH_ETCD)
            control_plane.wait_until_healthy(host, cluster)
        node = _wait_for_kubelet(leader, name, release)
        if kubectl.why_cordoned(node):
            kubectl.uncordon(leader, name)
        return CHANGED


class UpgradeControlPlane(_UpgradeNodes):
    """Upgrade a control-plane node."""

    title = "upgrade control-plane nodes"


class UpgradeWorkers(_UpgradeNodes):
    """Upgrade a worker."""

    title = "upgrade workers"


def _wait_for_kubelet(leader: Host, name: str, release: str) -> dict[str, Any]:
    """Wait until kubelet reports its new release, and is ready; returns the Node object."""

    def upgraded() -> dict[str, Any]:
        node = kubectl.list_nodes(leader)[name]
        seen = kubectl.kubelet_release(node)
        if seen != release or not kubectl.is_ready(node):
            raise NotYet(f"kubelet {seen}: {kubectl.state_of(node)}")
        return node

    return leader.clock.until(upgraded, _LIMIT, f"kubelet {release} of node {name}")
