"""The base of scenarios in which the control plane is scaled."""

from typing import Any

from functional import faults, kubernetes
from functional.cluster_scenario import MASTER
from functional.faults import REPLACED
from functional.nodes_scenario import NodesScenario
from tools.client import stacks, wait
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.poll import poll_api

_ASPECT = "master_instance"


class MastersScenario(NodesScenario):
    """Three masters become five, and three again, of which etcd's leader is none.

    ``longest_outage``: seconds for which no apiserver behind the virtual IP may be ready.
    """

    longest_outage = 10

    def scale_masters_out_and_in(self, vnf: Vnf, workers: int) -> None:
        """Those that leave have etcd's leader and the virtual IP."""
        self.scale_masters(vnf, "SCALE_OUT")
        self.check_five_masters(vnf, workers)
        leaving = self.leaving(vnf)
        staying = {name: m for name, m in self.masters(vnf).items() if name not in leaving}
        kubernetes.move_etcd_leader({**staying, **leaving}, next(iter(leaving)))
        self.move_virtual_ip(staying, leaving)
        log(f"etcd's leader and {self.virtual_ip()} are on masters that leave: {list(leaving)}")
        self.scale_masters(vnf, "SCALE_IN")
        self.assertEqual(set(staying), set(self.masters(vnf)))
        self.check_balanced_cluster(vnf, workers)

    def check_five_masters(self, vnf: Vnf, workers: int) -> None:
        self.check_balanced_cluster(vnf, workers, masters=5)

    def fail_after_replacement(self, vnf: Vnf, target: str) -> tuple[dict[str, Any], Remote]:
        """Fail the heal of a master when its machine is new; returns operation and machine."""
        masters = [machine for vnfc, machine in self.vnfcs(vnf, MASTER) if vnfc != target]
        for master in masters:
            faults.prepare(master)
        with faults.injected(masters, *REPLACED[1:]):
            failed = vnf.heal({"vnfcInstanceId": [target]})
        self.assert_failed(failed, REPLACED[0])
        return failed, dict(self.vnfcs(vnf, MASTER))[target]

    def scale_masters(self, vnf: Vnf, kind: str) -> None:
        with poll_api(self.vim_before.auth_url) as seen:
            self.assert_completed(self.try_scale_of_masters(vnf, kind))
        self.assertLess(seen.readiness.longest, self.longest_outage)

    def try_scale_of_masters(self, vnf: Vnf, kind: str) -> dict[str, Any]:
        """Returns the operation when it has ended, in whatever way."""
        occurrence: dict[str, Any] = vnf.scale(kind, _ASPECT, 1)
        return occurrence

    def leaving(self, vnf: Vnf) -> dict[str, Remote]:
        """The two masters that Tacker will choose, by node name: the oldest through v1."""
        if self.api.version == "2":  # which lists VNFCs in the order in which they leave
            machines = [machine for _, machine in self.vnfcs(vnf, MASTER)[:2]]
        else:
            addresses = stacks.server_addresses(self.cloud, vnf.id)
            servers = stacks.members_by_age(self.cloud, vnf.id, MASTER)[:2]
            machines = [Remote(addresses[server]) for server in servers]
        return {self.node_name(machine): machine for machine in machines}

    def move_virtual_ip(self, staying: dict[str, Remote], leaving: dict[str, Remote]) -> None:
        """Let one of the masters that leave hold the virtual IP: nobody takes it from a holder."""
        address = self.virtual_ip()
        with step(f"move {address}"):
            for machine in staying.values():
                machine.run("sudo systemctl stop keepalived")
            wait.until(
                lambda: [name for name, m in leaving.items() if m.has_address(address)],
                bool, 30, f"a master that leaves and holds {address}",
            )
            for machine in staying.values():
                machine.run("sudo systemctl start keepalived")

