"""Upgrade nodes, each drained: kubeadm's part, the packages, kubelet."""

from collections.abc import Mapping
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
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

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
        _drain(leader, name, node, cluster.params.drain_timeout)
        if cluster.topology.is_ha and cluster.is_control_plane(host):
            kubelet.lead_to_load_balancer(host, cluster, release)
        kubeadm.upgrade_node(host, cluster)
        node_packages.run_script(host, cluster, KUBERNETES_VERSION=release.removeprefix("v"))
        host.sudo(*_RESTART.command(*hardening.RESTRICT.command()), timeout=_RESTART_LIMIT)
        node = _wait_for_kubelet(leader, name, release)
        if cluster.is_control_plane(host):
            # A kubelet of another series starts the static pods anew.
            control_plane.wait_until_healthy(host, cluster)
        if kubectl.why_cordoned(node):
            kubectl.uncordon(leader, name)
        return CHANGED


class UpgradeControlPlane(_UpgradeNodes):
    """Upgrade a control-plane node."""

    title = "upgrade control-plane nodes"


class UpgradeWorkers(_UpgradeNodes):
    """Upgrade a worker."""

    title = "upgrade workers"


def _drain(leader: Host, name: str, node: Mapping[str, Any], longest: float) -> None:
    """Cordon and drain a node; one that cannot be drained is as it was before.

    A node on which evicted pods still end stays cordoned.
    """
    is_open = not node["spec"].get("unschedulable")
    if is_open:
        kubectl.cordon(leader, name, kubectl.UPGRADE)
    try:
        draining.drain(leader, name, longest)
    except MgmtDriverError as error:
        if is_open and not isinstance(error, draining.PodsEnding):
            draining.uncordon(leader, name)
        raise


def _wait_for_kubelet(leader: Host, name: str, release: str) -> dict[str, Any]:
    """Wait until kubelet reports its new release, and is ready; returns the Node object."""

    def upgraded() -> dict[str, Any]:
        node = kubectl.list_nodes(leader)[name]
        seen = kubectl.kubelet_release(node)
        if seen != release or not kubectl.is_ready(node):
            raise NotYet(f"kubelet {seen}: {kubectl.state_of(node)}")
        return node

    return leader.clock.until(upgraded, _LIMIT, f"kubelet {release} of node {name}")
