"""Clusters on networks whose packets are smaller or larger than Ethernet's 1,500 bytes."""

import contextlib
from collections.abc import Iterator

from functional import kubernetes, leftovers, shared
from functional.cluster_scenario import MASTER, WORKER, ClusterScenario
from functional.dns import Resolver
from functional.packages import floating_ip_templates
from functional.test_simple_cluster import use_floating_ips
from tools.client import stacks, wait
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.names import unique

# The least of IPv6 (RFC 8200), what Geneve leaves of Ethernet's, and jumbo frames below VXLAN.
_MTUS = (1280, 1442, 8950)
_MIB = 1 << 20


class NetworksOfAnyMtu(ClusterScenario):
    """Large answers come between pods, and from the API to a pod: nothing is cut off on the way."""

    image = CONFIG.prepared_image

    def test_networks_of_any_mtu(self) -> None:
        self.registry = shared.private_registry()
        package = self.onboard_package(floating_ip_templates("simple"))
        for number, mtu in enumerate(_MTUS):
            name = self.enter(self.network(mtu, f"10.190.{number}.0/24"))
            before = leftovers.resources(self.cloud, self.tacker)
            vnf = self.create_vnf(package)
            request = self.request("simple", self.registry, name)
            use_floating_ips(request)
            self.assert_completed(vnf.instantiate(request))
            self.check_large_answers(vnf, mtu)
            self.assert_completed(vnf.heal({"vnfcInstanceId": [self.vnfcs(vnf, WORKER)[0][0]]}))
            self.check_large_answers(vnf, mtu)
            self.assert_completed(vnf.terminate())
            stacks.await_deletion(self.cloud, vnf.id)
            after = leftovers.resources(self.cloud, self.tacker)
            self.assertEqual({}, leftovers.difference(before, after))  # among them floating IPs

    @contextlib.contextmanager
    def network(self, mtu: int, cidr: str) -> Iterator[str]:
        """A network of the MTU, behind the router of the tenant network."""
        neutron, name = self.cloud.network, unique(f"mtu-{mtu}")
        tenant = neutron.find_network(CONFIG.tenant_network, ignore_missing=False)
        owner = "network:router_interface"
        (gateway,) = neutron.ports(network_id=tenant.id, device_owner=owner)
        (example,) = neutron.subnets(network_id=tenant.id, ip_version=4)
        network = neutron.create_network(name=name, mtu=mtu)
        try:
            subnet = neutron.create_subnet(
                network_id=network.id, ip_version=4, cidr=cidr,
                dns_nameservers=example.dns_nameservers,
            )
            neutron.add_interface_to_router(gateway.device_id, subnet.id)
            try:
                yield name
            finally:
                neutron.remove_interface_from_router(gateway.device_id, subnet.id)
        finally:
            neutron.delete_network(network)

    def check_large_answers(self, vnf: Vnf, mtu: int) -> None:
        self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        master, workers = self.machines(vnf)[MASTER][0], self.machines(vnf)[WORKER]
        seen = {worker.run("cat /sys/class/net/eth0/mtu").strip() for worker in workers}
        self.assertEqual({str(mtu)}, seen)
        with (
            step(f"large answers with an MTU of {mtu}"),
            self.cluster.web_server("large", f"{self.registry}/busybox:1", 2),
        ):
            self.await_pods("large", 2)
            server, client = self.cluster.pods("app=large")
            make = f"dd if=/dev/urandom of=/www/file bs={_MIB} count=10; md5sum </www/file"
            made = Resolver(master, server.metadata.name).run(make)
            fetch = (
                f"printf 'GET /file HTTP/1.0\\r\\n\\r\\n' | nc -w 30 {server.status.pod_ip} 8080"
                f" | tail -c {10 * _MIB} | md5sum"
            )
            fetched = Resolver(master, client.metadata.name).run(fetch)
            log(f"10 MiB from pod to pod: {made.strip()}, {fetched.strip()}")
            self.assertEqual(made, fetched)
            self.check_large_answer_of_api(vnf)

    def check_large_answer_of_api(self, vnf: Vnf) -> None:
        """In the network of a pod on each worker, as its clients would ask."""
        names = [f"large{number}" for number in range(6)]
        for name in names:
            body = {"metadata": {"name": name}, "data": {"text": "x" * 900_000}}
            kubernetes.create(self.cluster.core.create_namespaced_config_map, body)
        service = self.cluster.core.read_namespaced_service("kubernetes", "default")
        token = self.cluster.core.api_client.configuration.api_key["authorization"]
        url = f"https://{service.spec.cluster_ip}/api/v1/namespaces/default/configmaps"
        for worker in self.machines(vnf)[WORKER]:
            size = worker.run(
                "pid=$(pgrep --full '^/bin/busybox httpd|^busybox httpd' | head -n 1); "
                "sudo nsenter --net=/proc/$pid/ns/net curl --silent --fail --max-time 60 "
                "--cacert /etc/kubernetes/pki/ca.crt "
                f"--header 'Authorization: {token}' {url} | wc -c"
            )
            log(f"the API's answer in a pod on {worker.address}: {int(size):,} bytes")
            self.assertLess(5_000_000, int(size))
        for name in names:
            kubernetes.delete(self.cluster.core.delete_namespaced_config_map, name)

    def await_pods(self, app: str, count: int) -> None:
        """Wait for the pods of a Deployment to run."""
        wait.until(
            lambda: [p for p in self.cluster.pods(f"app={app}") if p.status.phase == "Running"],
            lambda pods: len(pods) == count, 120, "the pods",
        )
