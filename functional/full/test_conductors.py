"""Two conductors share the work; one of them dies, and the other one goes on."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from tackerclient.common.exceptions import TackerClientException

from functional import shared
from functional.cluster_scenario import MASTER, WORKER, ClusterScenario
from functional.shell import output
from mgmt_drivers.engine import lock
from tools.client import stacks, wait
from tools.client.api import V2, Api
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.names import unique

_ASPECT = "worker_instance"
_BOTH = {1, 2}
_DIED = "conductor"  # word of the error of an operation whose conductor seems to have died


class ConductorsScenario(ClusterScenario):
    """Clusters on a cloud with two conductors, each on a host of its own."""

    image = CONFIG.prepared_image

    def setUp(self) -> None:
        super().setUp()
        if not CONFIG.conductors:
            self.skipTest("FUNCTIONAL_CONDUCTORS is not set: there is one conductor")
        self.registry = shared.private_registry()
        self.addCleanup(run, "kill", 2)
        self.addCleanup(run, "start", 1)
        run("start", 2)

    def save_logs_of_machines(self) -> None:
        super().save_logs_of_machines()
        for number in _BOTH:
            self.save(f"conductor-{number}", partial(run, "log", number))

    def check_conductors(self) -> None:
        package = self.onboard_package()
        request = self.request("simple", self.registry)
        vnf = self.create_vnf(package)
        vnf.start_instantiate(request)
        # Each conductor gets every second message: an operation of v1 is two messages, one of v2
        # is one, and the creation of an instance is one in v1, none in v2.
        other = self.create_vnf(package)
        other.start_instantiate(self.request("simple", self.registry, vim_name=unique("vim")))
        self.await_control_plane(vnf)
        self.check_refused(vnf, request)
        dying, staying = self.conductor_of(vnf), self.conductor_of(other)
        self.assertNotEqual(dying, staying)
        run("kill", dying)
        with step(f"wait for the end of the instantiation of {other.name}"):
            self.assert_completed(other.await_outcome("INSTANTIATE"))
        self.assert_completed(self.instantiate_again(vnf, request, staying))
        self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        self.scale_out_while_a_conductor_starts(vnf, dying)
        self.heal_by_the_other(vnf, dying, staying)
        self.check_what_both_find(vnf)
        self.check_cluster(vnf, self.registry, masters=1, workers=3)
        self.check_terminate(vnf)
        self.assertEqual([], trace_of(vnf))

    def check_refused(self, vnf: Vnf, request: dict[str, Any]) -> None:
        """A second operation on a VNF is refused, once a conductor has begun the first one."""
        with self.assertRaises(TackerClientException) as refusal:
            vnf.start_instantiate(request)
        log(f"a second operation: {refusal.exception}")

    def conductor_of(self, vnf: Vnf) -> int:
        """The conductor that works on the first operation of a VNF."""
        (number,) = wait.until(lambda: mentions(vnf), bool, 300, f"a phase of {vnf.name}")
        return number

    def instantiate_again(self, vnf: Vnf, request: dict[str, Any], staying: int) -> dict[str, Any]:
        """Do what an operator does when the conductor of an instantiation does not come back."""
        raise NotImplementedError

    def scale_out_while_a_conductor_starts(self, vnf: Vnf, number: int) -> None:
        with ThreadPoolExecutor() as pool:
            started = pool.submit(run, "start", number)
            occurrence = vnf.scale("SCALE_OUT", _ASPECT, 1)
            started.result()
        self.check_scale_out(vnf, occurrence)

    def check_scale_out(self, vnf: Vnf, occurrence: dict[str, Any]) -> None:
        self.assert_completed(occurrence)

    def heal_by_the_other(self, vnf: Vnf, number: int, staying: int) -> None:
        """The conductor that had died works on the cluster that the other one has made."""
        run("kill", staying)
        before = mentions(vnf)
        (target, _), *_ = self.vnfcs(vnf, WORKER)
        ((_, master),) = self.vnfcs(vnf, MASTER)
        with locked(master):
            occurrence = vnf.heal({"vnfcInstanceId": [target]})
        self.assert_failed(occurrence, "another operation works on the machine")
        self.assert_completed(vnf.retry(occurrence))
        after = mentions(vnf)
        log(f"phases in the logs of conductors: {before}, after the heal {after}")
        self.assertEqual(before[staying], after[staying])
        self.assertLess(before[number], after[number])
        run("start", staying)

    def check_what_both_find(self, vnf: Vnf) -> None:
        """Host keys are with the VNF instance, the trace in the folder that both have."""
        metadata = {key.lower().replace("_", ""): v for key, v in vnf.show()["metadata"].items()}
        keys = json.loads(metadata["mgmtdriversshhostkeys"])
        self.assertEqual({server.id for server in stacks.servers(self.cloud, vnf.id)}, set(keys))
        operations = [record["operation"] for record in trace_of(vnf)]
        log(f"the trace of {vnf.name}: { {name: operations.count(name) for name in operations} }")
        self.assertLessEqual({"instantiate", "scale out", "heal"}, set(operations))


class ConductorsThroughV1(ConductorsScenario):
    """Nothing ends an operation whose conductor has died, and a start changes no operation."""

    def test_conductors_through_v1(self) -> None:
        self.check_conductors()

    def instantiate_again(self, vnf: Vnf, request: dict[str, Any], staying: int) -> dict[str, Any]:
        self.roll_back_processing(vnf)
        return vnf.instantiate(request)


class ConductorsThroughV2(ConductorsScenario):
    """Each start of a conductor ends all operations, in Tacker's database."""

    api: Api = V2()

    def test_conductors_through_v2(self) -> None:
        self.check_conductors()

    def instantiate_again(self, vnf: Vnf, request: dict[str, Any], staying: int) -> dict[str, Any]:
        run("start", staying)
        occurrence = vnf.await_outcome("INSTANTIATE")
        self.assert_failed(occurrence, _DIED)
        return vnf.retry(occurrence)

    def check_scale_out(self, vnf: Vnf, occurrence: dict[str, Any]) -> None:
        """The operation is shown as failed, but its conductor goes on, and a retry is refused."""
        self.assert_failed(occurrence, _DIED)
        with self.assertRaises(TackerClientException) as refusal:
            vnf.retry(occurrence)
        log(f"a retry meanwhile: {refusal.exception}")
        self.assert_completed(vnf.await_outcome("SCALE", before=occurrence))


@contextmanager
def locked(machine: Remote) -> Iterator[None]:
    """Lock a machine during the block, as an operation does that Tacker has forgotten."""
    unit = "other-operation"
    machine.run(f"sudo systemd-run --unit {unit} flock {lock.PATH} sleep 600")
    try:
        yield
    finally:
        machine.run(f"sudo systemctl stop {unit}")


def run(verb: str, number: int) -> str:
    """Start or kill a conductor, or return its log."""
    command = f"{CONFIG.conductors} {verb} {number}"
    if verb == "log":
        return output(command)
    with step(f"{verb} conductor {number}"):
        return output(command)


def mentions(vnf: Vnf) -> dict[int, int]:
    """How often the log of each conductor that has worked on a VNF mentions its operations."""
    found = {number: run("log", number).count(f" of VNF {vnf.id}") for number in _BOTH}
    return {number: count for number, count in found.items() if count}


def trace_of(vnf: Vnf) -> list[dict[str, Any]]:
    """The trace of a VNF; empty if there is none."""
    command = f"{CONFIG.show_trace} {vnf.id} || true"
    return [json.loads(line) for line in output(command).splitlines()]
