"""A project whose quota is too small, and a cloud without a compute host that is up."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from functional import leftovers, shared
from functional.cluster_scenario import ClusterScenario
from tools.client import stacks
from tools.client.api import V2, Api
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step

_LIMIT = 300  # seconds until the error is known
_QUOTA, _NO_HOST = "Quota exceeded for instances", "No valid host was found"


class CapacityScenario(ClusterScenario):
    """A cluster of five machines that do not fit: the error says why, and nothing is left."""

    image = CONFIG.prepared_image

    def setUp(self) -> None:
        super().setUp()
        self.registry = shared.private_registry()
        self.package = self.onboard_package()
        self.before = leftovers.resources(self.cloud, self.tacker)

    def instantiate_without_room(self, vnf: Vnf, reason: str) -> dict[str, Any]:
        """The operation fails soon, with Nova's own sentence."""
        began = time.monotonic()
        failed = vnf.instantiate(self.request("complex", self.registry))
        took = time.monotonic() - began
        log(f"failed after {took:.0f} s; Heat: {stacks.failure_reasons(self.cloud, vnf.id)}")
        self.assertLess(took, _LIMIT)
        self.assert_failed(failed, reason)
        return failed

    def roll_back(self, vnf: Vnf, failed: dict[str, Any]) -> None:
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        self.check_nothing_left(vnf)

    def terminate(self, vnf: Vnf) -> None:
        self.check_cluster(vnf, self.registry, masters=3, workers=2)
        self.assert_completed(vnf.terminate())
        self.check_nothing_left(vnf)

    def check_nothing_left(self, vnf: Vnf) -> None:
        stacks.await_deletion(self.cloud, vnf.id)
        after = leftovers.resources(self.cloud, self.tacker)
        log(f"resources: { {kind: len(ids) for kind, ids in after.items()} }")
        self.assertEqual({}, leftovers.difference(self.before, after))

    @contextlib.contextmanager
    def quota(self, more: int) -> Iterator[None]:
        """Let the project have so many more servers than it has."""
        project, servers = str(self.cloud.current_project_id), len(self.before["servers"])
        before = self.cloud.get_compute_quotas(project).instances
        with step(f"let the project have {servers + more} servers"):
            self.cloud.set_compute_quotas(project, instances=servers + more)
        try:
            yield
        finally:
            self.cloud.set_compute_quotas(project, instances=before)

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


class CapacityThroughV1(CapacityScenario):
    """An instantiation that failed is rolled back and asked for anew, as the guide says."""

    def test_capacity_through_v1(self) -> None:
        vnf = self.create_vnf(self.package)
        with self.hosts_disabled():
            self.roll_back(vnf, self.instantiate_without_room(vnf, _NO_HOST))
        with self.quota(4):
            self.roll_back(vnf, self.instantiate_without_room(vnf, _QUOTA))
        self.assert_completed(vnf.instantiate(self.request("complex", self.registry)))
        self.terminate(vnf)


class CapacityThroughV2(CapacityScenario):
    """An instantiation that failed is retried when there is room."""

    api: Api = V2()

    def test_capacity_through_v2(self) -> None:
        vnf = self.create_vnf(self.package)
        with self.hosts_disabled():
            self.roll_back(vnf, self.instantiate_without_room(vnf, _NO_HOST))
        with self.quota(4):
            failed = self.instantiate_without_room(vnf, _QUOTA)
        self.assert_completed(vnf.retry(failed))
        self.terminate(vnf)
