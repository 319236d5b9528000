"""A project whose quotas are too small, and compute hosts that are out of service or dead."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from functional import leftovers, shared
from functional.cluster_scenario import MASTER, WORKER
from functional.storage_scenario import StorageScenario
from tools.client import hosts, stacks, wait
from tools.client.api import V2, Api
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote

_LIMIT = 300  # seconds until the error is known
# Through v2 the machines are for a zone, which has no host then.
_NO_HOST, _NO_ZONE = "No valid host was found", "The requested availability zone is not available"
_SERVERS, _VOLUMES = "Quota exceeded for instances", "Maximum number of volumes allowed"


class CapacityScenario(StorageScenario):
    """Clusters with a storage server that do not fit: the error says why, and nothing is left.

    The flavour ``complex`` has six machines, ``simple`` has four, and each has two volumes.
    """

    image = CONFIG.prepared_image

    def setUp(self) -> None:
        super().setUp()
        self.registry = shared.private_registry()
        self.package = self.onboard_package(overlays=[f"storage{self.api.variant}"])
        self.before = leftovers.resources(self.cloud, self.tacker)

    def instantiate_without_room(self, vnf: Vnf, flavour: str, reason: str) -> dict[str, Any]:
        """The operation fails soon, with the sentence of Nova or Cinder."""
        began = time.monotonic()
        failed = vnf.instantiate(self.storage_request(flavour))
        took = time.monotonic() - began
        log(f"failed after {took:.0f} s; Heat: {stacks.failure_reasons(self.cloud, vnf.id)}")
        self.assertLess(took, _LIMIT)
        self.assert_failed(failed, reason)
        return failed

    def roll_back(self, vnf: Vnf, failed: dict[str, Any]) -> None:
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        self.check_nothing_left(vnf)

    def terminate(self, vnf: Vnf, masters: int) -> None:
        """Terminate a cluster that works, a node of which is on a compute host that dies."""
        self.cluster = self.check_cluster(vnf, self.registry, masters, workers=2)
        self.check_volumes_available()
        with self.host_down(vnf):
            self.assert_completed(vnf.terminate())
            self.check_nothing_left(vnf)

    def check_nothing_left(self, vnf: Vnf) -> None:
        stacks.await_deletion(self.cloud, vnf.id)
        after = leftovers.resources(self.cloud, self.tacker)
        log(f"resources: { {kind: len(ids) for kind, ids in after.items()} }")
        self.assertEqual({}, leftovers.difference(self.before, after))

    def few_servers(self) -> contextlib.AbstractContextManager[None]:
        """Let the project have one server fewer than the flavour ``complex`` needs."""
        return self.quota("compute", "instances", len(self.before["servers"]) + 5)

    def few_volumes(self) -> contextlib.AbstractContextManager[None]:
        return self.quota("volume", "volumes", len(self.before["volumes"]) + 1)

    @contextlib.contextmanager
    def quota(self, service: str, name: str, limit: int) -> Iterator[None]:
        project = str(self.cloud.current_project_id)
        change = getattr(self.cloud, f"set_{service}_quotas")
        before = getattr(getattr(self.cloud, f"get_{service}_quotas")(project), name)
        with step(f"let the project have {limit} {name}"):
            change(project, **{name: limit})
        try:
            yield
        finally:
            change(project, **{name: before})

    @contextlib.contextmanager
    def hosts_disabled(self) -> Iterator[None]:
        """Take all compute hosts out of service."""
        compute = self.cloud.compute
        services = [s for s in compute.services() if s.binary == "nova-compute"]
        with step(f"disable {len(services)} compute hosts"):
            for service in services:
                compute.disable_service(service)
        try:
            yield
        finally:
            for service in services:
                compute.enable_service(service)

    @contextlib.contextmanager
    def host_down(self, vnf: Vnf) -> Iterator[None]:
        """The VNF's nodes on one compute host have no power, and Nova knows that the host is dead.

        The containers or domains of these nodes stay with the host until Nova removes them, which
        takes up to half an hour after the end.
        """
        nodes = wait.until(
            lambda: stacks.servers(self.cloud, vnf.id, MASTER, WORKER),
            lambda found: found and all(server.status == "ACTIVE" for server in found),
            180, "the servers of the nodes",
        )
        host, addresses = nodes[0].compute_host, stacks.server_addresses(self.cloud, vnf.id)
        lost = [Remote(addresses[s.id]) for s in nodes if s.compute_host == host]
        with step(f"lose {host} with {', '.join(machine.address for machine in lost)}"):
            for machine in lost:
                machine.await_login()
                machine.cut_power()
        with hosts.down(self.cloud, host):
            yield


class CapacityThroughV1(CapacityScenario):
    """An instantiation that failed is rolled back and asked for anew, as the guide says."""

    def test_capacity_through_v1(self) -> None:
        vnf = self.create_vnf(self.package)
        with self.hosts_disabled():
            self.roll_back(vnf, self.instantiate_without_room(vnf, "complex", _NO_HOST))
        with self.few_servers():
            failed = self.instantiate_without_room(vnf, "complex", _SERVERS)
            with self.host_down(vnf):
                self.roll_back(vnf, failed)
        vnf = self.create_vnf(self.package)
        with self.few_volumes():
            self.roll_back(vnf, self.instantiate_without_room(vnf, "simple", _VOLUMES))
        self.assert_completed(vnf.instantiate(self.storage_request("simple")))
        self.terminate(vnf, masters=1)


class CapacityThroughV2(CapacityScenario):
    """An instantiation that failed is retried when there is room."""

    api: Api = V2()

    def test_capacity_through_v2(self) -> None:
        vnf = self.create_vnf(self.package)
        with self.hosts_disabled():
            self.roll_back(vnf, self.instantiate_without_room(vnf, "complex", _NO_ZONE))
        with self.few_servers():
            failed = self.instantiate_without_room(vnf, "complex", _SERVERS)
            with self.host_down(vnf):
                self.roll_back(vnf, failed)
            failed = self.instantiate_without_room(vnf, "complex", _SERVERS)
        self.assert_completed(vnf.retry(failed))
        self.terminate(vnf, masters=3)
        with self.few_volumes():
            failed = self.instantiate_without_room(vnf, "simple", _VOLUMES)
        self.assert_completed(vnf.retry(failed))
        self.terminate(vnf, masters=1)
