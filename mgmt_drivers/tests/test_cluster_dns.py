"""CoreDNS on more than one node, in simulated clusters."""

from collections.abc import Sequence

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.operations import scale_out
from mgmt_drivers.testing.simulated_cloud import WORKERS, SimulatedClusterTest, new_node, no_fault
from mgmt_drivers.testing.simulation import Fault, SimulatedSession


class ClusterDnsTest(SimulatedClusterTest):
    def scale_out(self, before: Fault = no_fault) -> None:
        new = self.arrive(new_node("worker", 20, "10.10.0.20")).node
        scale_out.scale_out(self.request(new.vnfc_id), self.services(before), self.vims)

    def test_a_new_cluster_outlives_the_loss_of_its_first_node(self) -> None:
        self.build(is_clustered=False)
        self.instantiate(self.services())
        self.assertEqual(2, len({*self.world.dns}))

    def test_one_pod_of_two_on_a_node_moves(self) -> None:
        self.build()
        places = self.world.dns_pods()
        self.assertEqual(1, len({*places.values()}))
        self.scale_out()
        moved = [pod for pod, node in self.world.dns_pods().items() if places[pod] != node]
        self.assertEqual(["coredns-1"], moved)

    def test_pods_that_are_apart_stay(self) -> None:
        self.build()
        self.world.dns = [self.machine(address).name for address in WORKERS]
        before = [*self.world.dns]
        self.scale_out()
        self.assertEqual(before, self.world.dns)

    def test_pods_stay_where_no_other_node_takes_them(self) -> None:
        self.build()
        first = next(iter(self.world.nodes))

        def cordon(session: SimulatedSession, argv: Sequence[str]) -> None:
            for name, node in self.world.nodes.items():
                if name != first:
                    node["spec"]["unschedulable"] = True

        self.scale_out(cordon)
        self.assertEqual([first, first], [*self.world.dns_pods().values()])

    def test_pods_that_crash_fail_the_operation_with_their_last_words(self) -> None:
        self.build()
        self.world.dns = [self.machine(address).name for address in WORKERS]
        self.world.dns_broken["coredns-1"] = {
            "conditions": [{"type": "Ready", "status": "False", "message": "unready: [coredns]"}],
            "containerStatuses": [
                {"state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}}
            ],
        }
        self.world.logs["coredns-1"] = "plugin/loop: Loop detected"
        with self.assertRaisesRegex(
            MgmtDriverError,
            r"1 of 2 pods are ready after 300 s\. coredns-1 on node worker-\S+: "
            r"unready: \[coredns\]; CrashLoopBackOff: back-off; "
            "the last line of its log: plugin/loop: Loop detected",
        ):
            self.scale_out()

    def test_a_single_node_is_no_reason_not_to_wait(self) -> None:
        self.build()
        first = next(iter(self.world.nodes))
        self.world.dns = [first, ""]
        self.world.dns_broken["coredns-0"] = self.world.dns_broken["coredns-1"] = {}
        with self.assertRaisesRegex(MgmtDriverError, "0 of 2 .*coredns-1 on no node: unknown"):
            self.scale_out()

    def test_a_pod_on_a_node_that_is_dead_is_not_waited_for(self) -> None:
        self.build()
        self.world.dns = [self.machine(address).name for address in WORKERS]
        self.machine(WORKERS[1]).alive = False
        self.world.dns_broken["coredns-1"] = {}
        self.scale_out()

    def test_a_name_that_would_be_an_option_is_refused(self) -> None:
        self.build()
        self.world.dns_pods = lambda: {"--all": "n", "coredns-1": "n"}  # type: ignore[method-assign]
        with self.assertRaisesRegex(MgmtDriverError, "'--all', which is not a pod's name"):
            self.scale_out()
