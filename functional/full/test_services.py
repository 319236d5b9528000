"""Services of the cloud are killed, and come back, while Tacker works."""

import contextlib
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

from keystoneauth1.exceptions import ClientException
from openstack.connection import Connection
from openstack.exceptions import SDKException

from functional import shared
from functional.cluster_scenario import ClusterScenario
from functional.requests import REQUESTS
from functional.scenario import Scenario
from tools.client import stacks, wait
from tools.client.config import CONFIG, cloud
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.packages import private_registry_csar
from tools.client.requests import load_request

# Seconds from the request to the moment when Heat replaces the machine.
_DELAY = 5.0
# Seconds after which a server without a host is not going to get one.
_FORGOTTEN = 60.0


class KilledConductor(ClusterScenario):
    """Tacker's conductor is killed while it instantiates a cluster."""

    image = CONFIG.prepared_image

    def test_killed_conductor(self) -> None:
        if not CONFIG.kill_conductor:
            self.skipTest("FUNCTIONAL_KILL_CONDUCTOR is not set: nothing can be killed")
        registry = shared.private_registry()
        vnf = self.create_vnf(self.onboard_package())
        request = self.request("simple", registry)
        self.kill_between_init_and_join(vnf, request)
        self.assert_completed(vnf.instantiate(request))
        self.check_cluster(vnf, registry, masters=1, workers=2)

    def kill_between_init_and_join(self, vnf: Vnf, request: dict[str, Any]) -> None:
        """The operation stays PROCESSING: it is cancelled and rolled back, and can be repeated."""
        vnf.start_instantiate(request)
        self.await_control_plane(vnf)
        with step("kill the conductor"):
            subprocess.run(CONFIG.kill_conductor, shell=True, check=True)  # noqa: S602 - ours
        self.roll_back_processing(vnf)


class KilledServices(Scenario):
    """An operation ends well, or fails clearly and is cured by a retry."""

    def test_killed_services(self) -> None:
        if not CONFIG.kill_services:
            self.skipTest("FUNCTIONAL_KILL_SERVICES is not set: nothing can be killed")
        vnf = self.create_vnf(self.onboard_csar(private_registry_csar()))
        request = load_request(REQUESTS / "private_registry/instantiate.json", self.tacker)
        self.assert_completed(vnf.instantiate(request))
        for command in CONFIG.kill_services.splitlines():
            with killed_meanwhile(command), self.forgotten_servers_deleted(vnf):
                occurrence = vnf.heal({})
            self.assert_cured(vnf, occurrence)
            self.check_registry(vnf)
        self.heal_deleted_server(vnf)

    @contextlib.contextmanager
    def forgotten_servers_deleted(self, vnf: Vnf) -> Iterator[None]:
        """Delete, as an operator would, the servers that Nova forgot when it was killed.

        Those stay in BUILD without a host: nothing but Heat's stack timeout would end that.
        """
        connection, since = cloud(), dict[str, float]()  # of the thread

        def watch() -> None:
            # The service that was killed may be away yet; Heat's answer then has no stacks, or is
            # no JSON.
            with contextlib.suppress(SDKException, ClientException, KeyError, ValueError):
                delete_forgotten_servers(connection, vnf, since)

        with wait.meanwhile(watch, 5):
            yield

    def heal_deleted_server(self, vnf: Vnf) -> None:
        """Somebody deletes the machine behind Tacker's back."""
        (vnfc,) = vnf.vnfcs()
        server = self.cloud.compute.get_server(vnfc["computeResource"]["resourceId"])
        with step(f"delete server {server.name}"):
            self.cloud.compute.delete_server(server)
            self.cloud.compute.wait_for_delete(server)
        self.assert_completed(vnf.heal({"vnfcInstanceId": [vnfc["id"]]}))
        self.check_registry(vnf)

    def check_registry(self, vnf: Vnf) -> None:
        (address,) = stacks.addresses(self.cloud, vnf.id)
        seen = Remote(address).run("curl --fail --silent http://localhost:5000/v2/_catalog")
        self.assertIn("repositories", seen)

    def assert_cured(self, vnf: Vnf, occurrence: dict[str, Any]) -> None:
        log(f"{occurrence['operationState']}: {occurrence.get('error', {}).get('detail', '')}")
        if occurrence["operationState"] == "FAILED_TEMP":
            self.assertTrue(occurrence["error"]["detail"])
            with step("wait for the service that was killed"):
                wait.until(lambda: are_answering(self.cloud), bool, 300, "Neutron and Nova")
            stacks.delete_failed(self.cloud, vnf.id)
            # With a server that a killed Nova had begun Nova deletes the stack's port, too.
            log(f"ports that are lost: {stacks.mark_lost_ports(self.cloud, vnf.id)}")
            occurrence = vnf.retry(occurrence)
        self.assert_completed(occurrence)


def are_answering(connection: Connection) -> bool:
    """Whether the services do, of those that are killed, that a retry needs at once."""
    try:
        next(connection.network.networks(), None)
        next(connection.compute.servers(), None)
    except (SDKException, ClientException):
        return False
    return True


def delete_forgotten_servers(connection: Connection, vnf: Vnf, since: dict[str, float]) -> None:
    """Delete the servers that have no host for long; ``since`` keeps when each was first seen."""
    for server in stacks.servers(connection, vnf.id):
        if server.status == "BUILD" and not server.compute_host:
            waited = time.monotonic() - since.setdefault(server.id, time.monotonic())
            if waited > _FORGOTTEN:
                log(f"server {server.name} has had no host for {waited:.0f} s: delete it")
                connection.compute.delete_server(server)


@contextlib.contextmanager
def killed_meanwhile(command: str) -> Iterator[None]:
    """Run a shell command a moment after the block has begun."""

    def kill() -> None:
        log(command)
        subprocess.run(command, shell=True, check=True)  # noqa: S602 - the operator's own

    timer = threading.Timer(_DELAY, kill)
    timer.start()
    try:
        yield
    finally:
        timer.join()
