"""Each phase of a heal fails once; retries complete the operation."""

from collections.abc import Sequence
from typing import Any

from functional import faults
from functional.cluster_scenario import MASTER, WORKER, BalancedClusterScenario
from functional.faults import REPLACED
from mgmt_drivers.machine.files import STATE_FOLDER
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log
from tools.client.machines import Remote

# The heal of a master starts although another master seems unhealthy: this fault would not stop it.
START_OF_WORKER = ("choose a control-plane node", "fails", "describe-machine /var")
START = (
    ("check the etcd quorum", "cut", "endpoint status"),
    ("save labels and taints", "fails", "kubectl .* get configmap/"),
    ("drain nodes", "cut", "kubectl .* drain"),
    ("configure the load balancer", "fails", "haproxy -c"),
    ("remove etcd members", "fails", "snapshot save"),
    ("remove etcd members", "cut", "member remove"),
    ("remove nodes", "cut", "kubectl .* delete node"),
)
END = (
    ("install packages", "cut", "install_k8s_cluster"),
    ("configure registries", "fails", "python3 -c .*Asks registries"),
    ("pull images", "cut", "images pull"),
    ("join nodes", "cut", "kubeadm init phase upload-certs"),
    ("join nodes", "cut", "kubeadm join"),
    ("restore labels and taints", "cut", "kubectl .* label"),
    # At the machine's own address: the loopback one is asked whenever anybody connects.
    ("verify the control plane", "cut", "https://([^1]|1[^2]|12[^7]).*:6443 .*--raw /readyz"),
    ("configure the load balancer", "cut", "apply-unit haproxy"),
    ("verify the virtual IP", "cut", "16443 .* --raw /readyz"),
)
# Phases and commands that the heal of a worker does not have.
_MASTERS_ONLY = {
    "check the etcd quorum", "remove etcd members", "configure the load balancer",
    "kubeadm init phase upload-certs", "verify the control plane", "verify the virtual IP",
}

_AS_IF_NEW = (
    f"sudo rm {STATE_FOLDER}/installed {STATE_FOLDER}/registries && "
    "sudo ctr --namespace k8s.io images ls --quiet | grep /kube-proxy: | "
    "xargs sudo ctr --namespace k8s.io images rm"
)

Fault = tuple[str, str, str]


class FaultsOnNodes(BalancedClusterScenario):
    """A fault, a retry that fails at the next fault, and so on until the heal is complete."""

    image = CONFIG.prepared_image

    def test_every_phase_fails_once(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        for vdu in (WORKER, MASTER):
            self.heal_with_faults(vnf, vdu)
            self.check_balanced_cluster(vnf, workers=2)

    def heal_with_faults(self, vnf: Vnf, vdu: str) -> None:
        target, machine = self.vnfcs(vnf, vdu)[-1]
        name = self.node_name(machine)
        self.cluster.label_and_taint(name, {"rack": "r7"}, {"key": "lab", "effect": "NoSchedule"})
        masters = [m for vnfc, m in self.vnfcs(vnf, MASTER) if vnfc != target]
        for master in masters:
            faults.prepare(master)
        occurrence: dict[str, Any] = {}
        table = [*faults_of(START, vdu), REPLACED, *faults_of(END, vdu)]
        if vdu == WORKER:
            table.insert(0, START_OF_WORKER)
        for fault in table:
            occurrence = self.run_until_fault(vnf, target, occurrence, masters, fault)
            if fault is REPLACED:
                new = dict(self.vnfcs(vnf, vdu))[target]
                new.run(_AS_IF_NEW)
                faults.prepare(new)
                masters = [*masters, new]
        self.assert_completed(vnf.retry(occurrence))
        log(f"heal of a {vdu}: {len(table)} faults, each cured by a retry: {table}")

    def run_until_fault(
        self, vnf: Vnf, target: str, before: dict[str, Any], machines: list[Remote], fault: Fault
    ) -> dict[str, Any]:
        """Start or retry the heal, which fails at the fault; returns the occurrence."""
        phase, kind, pattern = fault
        with faults.injected(machines, kind, pattern):
            occurrence = vnf.retry(before) if before else vnf.heal({"vnfcInstanceId": [target]})
        self.assert_failed(occurrence, f"phase '{phase}'")
        return occurrence


def faults_of(table: Sequence[Fault], vdu: str) -> list[Fault]:
    return [f for f in table if vdu == MASTER or not _MASTERS_ONLY.intersection(f)]
