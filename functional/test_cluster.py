"""The story of one cluster with storage, through the v2 API (ETSI SOL003 3.3.1)."""

from functional import shared
from functional.cluster_scenario import MASTER, WORKER
from functional.nodes_scenario import NodesScenario
from functional.port_filter import PortFilter
from functional.registries import stopped_registry
from functional.storage_scenario import KEEP_VOLUME, StorageScenario
from tools.client import stacks
from tools.client.api import V2, Api
from tools.client.config import CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step
from tools.client.machines import Remote


class LifeOfACluster(NodesScenario, StorageScenario):
    """A cluster is refused, fails, is mended, grows, loses nodes and all of them, and ends."""

    api: Api = V2()
    image = CONFIG.prepared_image

    def test_life_of_a_cluster(self) -> None:
        self.registry = shared.private_registry()
        package = self.onboard_package(
            shared.outside_registry().files, overlays=[f"storage{self.api.variant}"]
        )
        self.check_faults_reported_together(package)
        vnf = self.instantiate_in_two_attempts(package)
        self.check_guide_output("nodes", vnf, "get nodes")
        self.check_guide_output("volumes", vnf, f"get persistentvolumes {' '.join(self.volumes)}")
        self.check_security_groups(vnf)
        self.scale_out_and_in(vnf)
        self.heal_workers(vnf, 2)
        self.heal_storage_server(vnf)
        self.heal_dead_leader(vnf)
        self.check_heal_without_quorum(vnf)
        self.heal_vnf(vnf)
        self.check_hardening(vnf)
        self.check_volumes_available()
        self.check_cnf(vnf).delete()  # through v1 its instance would keep the VIM
        self.check_api_without_master(vnf)
        self.assert_completed(vnf.terminate())
        stacks.await_deletion(self.cloud, vnf.id)

    def instantiate_in_two_attempts(self, package: Package) -> Vnf:
        """The registry is down at first."""
        vnf = self.create_vnf(package)
        request = self.storage_request("complex")
        params = request["additionalParams"]["k8s_cluster_installation_param"]
        params |= {"container_runtime": self.runtime, **self.registry_params(self.registry)}
        with stopped_registry(Remote(self.registry.partition(":")[0])):
            failed = vnf.instantiate(request)
        self.assert_failed(failed, "configure registries", f"{self.registry}: it cannot be reached")
        self.assert_completed(vnf.retry(failed))
        self.create_workload(vnf, workers=2)
        self.check_volumes_available()
        return vnf

    def heal_storage_server(self, vnf: Vnf) -> None:
        """The new server has what pods wrote to a volume of the old one."""
        self.master = self.machines(vnf)[MASTER][0]
        self.check_shared_volume(vnf)
        self.release_shared_volume()
        vnfc, _ = self.storage_server(vnf)
        request = {"vnfcInstanceId": [vnfc], "additionalParams": KEEP_VOLUME}
        self.assert_completed(vnf.heal(request))
        _, server = self.storage_server(vnf)
        self.assertEqual("from pod0\n", server.run("cat /volume/nfs/pv*/pod0"))
        self.check_volumes_available()

    def check_security_groups(self, vnf: Vnf) -> None:
        """Nodes reach each other as Kubernetes needs it; the registry's machine does not.

        Packets of pods are left out: ovn-trace does not know address pairs that are networks.
        """
        if not CONFIG.ovn_trace:
            log("FUNCTIONAL_OVN_TRACE is not set: security groups are not checked")
            return
        master, second = (m.address for _, m in self.vnfcs(vnf, MASTER)[:2])
        worker = self.vnfcs(vnf, WORKER)[0][1].address
        stranger = self.registry.partition(":")[0]
        virtual_ip = {"receiver": self.virtual_ip()}
        passing = PortFilter(self.cloud).passes
        with step("ask OVN what the security groups let through"):
            for source, target, packet, addresses in (
                (worker, master, "tcp.dst == 16443", virtual_ip),
                (stranger, master, "tcp.dst == 16443", virtual_ip),
                (master, second, "ip.proto == 112", {}),
                (master, second, "tcp.dst == 2379", {}),
                (master, worker, "tcp.dst == 10250", {}),
                (stranger, worker, "tcp.dst == 30080", {}),
                (stranger, master, "tcp.dst == 22", {}),
            ):
                self.assertTrue(passing(source, target, packet, **addresses), packet)
            for source, target, packet in (
                (stranger, master, "tcp.dst == 2379"),
                (stranger, worker, "tcp.dst == 10250"),
                (stranger, worker, "tcp.dst == 8080"),
                (stranger, master, "ip.proto == 112"),
                (worker, master, "tcp.dst == 2379"),
                (worker, master, "ip.proto == 112"),
            ):
                self.assertFalse(passing(source, target, packet), packet)
