"""Every remote command of each operation fails once; trying again ends right."""

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence

from mgmt_drivers.cluster.access.service_account import Credentials
from mgmt_drivers.engine import lock
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import (
    CommandTimeout,
    ConnectionFailed,
    InventoryError,
    MgmtDriverError,
    OperationError,
)
from mgmt_drivers.inventory import Node
from mgmt_drivers.operations import scale_in, scale_out, terminate
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.ssh.hostkeys import HostKeys
from mgmt_drivers.testing.fakes import named
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    STORAGE,
    WORKERS,
    SimulatedClusterTest,
    new_node,
)
from mgmt_drivers.testing.simulated_world import CHARTS, HELM, HELM_CONFIG
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.vim import Vim

FAULTS = ("fails", "is cut off", "kills the machine")


class Injector:
    """Strikes at the Nth command, counted over all machines, once."""

    def __init__(self, number: int, fault: str) -> None:
        self.number, self.fault = number, fault
        self.count = 0
        self.struck = False
        self._lock = threading.Lock()

    def before(self, session: SimulatedSession, argv: Sequence[str]) -> None:
        with self._lock:
            self.count += 1
            strikes = self.count == self.number
            self.struck = self.struck or strikes
        session.strikes = strikes  # type: ignore[attr-defined]
        if strikes and self.fault == "fails":
            raise CommandTimeout(f"{argv[0]}: given up")
        if strikes and self.fault == "kills the machine":
            session.machine.alive = False
            session.machine.interrupted = True

    def after(self, session: SimulatedSession, argv: Sequence[str]) -> None:
        if session.strikes and self.fault == "is cut off":  # type: ignore[attr-defined]
            session.broken = True
            raise ConnectionFailed("cut off")


class FaultsTestCase(SimulatedClusterTest):
    """Told again and again, each time with another fault."""

    def cured(self, operation: Callable[[Services], None], number: int, fault: str) -> bool:
        """Carry an operation out with a fault, and again if it failed; whether it struck."""
        injector = Injector(number, fault)
        try:
            operation(self.services(injector.before, injector.after))
        except MgmtDriverError:
            self.assertTrue(injector.struck, "it failed of itself")
            for machine in self.world.machines.values():
                machine.alive = True
            operation(self.services())
        for machine in self.world.machines.values():
            machine.alive = True
        return injector.struck

    def all_faults(self, story: Callable[[int, str], bool], is_clustered: bool = True) -> int:
        """Tell a story for each fault at each command until none is left; how many struck."""
        total = 0
        for fault in FAULTS:
            number, struck = 1, True
            while struck:
                self.build(is_clustered)
                struck = False  # what fails is no reason to go on without end
                with self.subTest(fault=fault, command=number):
                    struck = story(number, fault)
                total += struck
                number += 1
        return total


class InstantiateFaultsTest(FaultsTestCase):
    def test_instantiate(self) -> None:
        def story(number: int, fault: str) -> bool:
            struck = self.cured(self.instantiate, number, fault)
            self.assert_whole(3, 2)
            (vim,) = self.vims.registered.values()
            self.assertEqual("kubernetes_vim_vnf-1", vim.name)
            with_helm = [m.address for m in self.world.machines.values() if HELM_CONFIG in m.files]
            self.assertEqual([*MASTERS], with_helm)
            self.assertEqual(vim.helm and vim.helm.addresses, MASTERS)
            self.assertEqual((1, {"pv1"}), (self.world.formatted, set(self.world.volumes)))
            return struck

        self.assertGreater(self.all_faults(story, is_clustered=False), 400)


class FaultsTest(FaultsTestCase):
    def test_scale_in(self) -> None:
        def story(number: int, fault: str) -> bool:
            request = self.request(*self.ids(*WORKERS))
            struck = self.cured(lambda s: scale_in.scale_in(request, s, self.vims), number, fault)
            self.assertEqual(3, len(self.world.nodes))
            return struck

        self.assertGreater(self.all_faults(story), 20)

    def test_roll_back_of_a_scale_out(self) -> None:
        def story(number: int, fault: str) -> bool:
            orphan = self.arrive(new_node("worker", 20, "10.10.0.20"), is_member=True)
            del self.world.machines[orphan.node.server_id]
            request = self.request()
            struck = self.cured(lambda s: scale_out.roll_back_scale_out(request, s), number, fault)
            self.assert_whole(3, 2)
            return struck

        self.assertGreater(self.all_faults(story), 10)

    def test_scale_out(self) -> None:
        def story(number: int, fault: str) -> bool:
            new = [new_node("worker", n, f"10.10.0.{n}") for n in (20, 200)]
            for node in new:
                self.arrive(node)
            request = self.request(*(node.vnfc_id for node in new))
            struck = self.cured(
                lambda s: scale_out.scale_out(request, s, self.vims), number, fault
            )
            self.assert_whole(3, 4)
            return struck

        self.assertGreater(self.all_faults(story), 100)

    def heal(self, address: str, number: int, fault: str, when: str) -> bool:
        target = self.machine(address).node
        name = self.world.machines[target.server_id].name
        self.world.nodes[name]["metadata"]["labels"]["rack"] = "r7"
        request = self.request(target.vnfc_id)

        def start(services: Services) -> None:
            self.heal_start(request, services)

        struck = self.cured(start, number if when == "start" else 0, fault)
        self.assertNotIn(name, self.world.nodes)
        self.replaced(target)
        after = self.request(target.vnfc_id)

        def end(services: Services) -> None:
            self.heal_end(after, services)

        struck |= self.cured(end, number if when == "end" else 0, fault)
        self.assert_whole(3, 2)
        new = self.machine(address)
        self.assertEqual("r7", self.world.nodes[new.name]["metadata"]["labels"]["rack"])
        return struck

    def test_heal_of_a_worker(self) -> None:
        for when in ("start", "end"):

            def story(number: int, fault: str, when: str = when) -> bool:
                return self.heal(WORKERS[0], number, fault, when)

            self.assertGreater(self.all_faults(story), 10)

    def test_heal_of_a_master(self) -> None:
        for when in ("start", "end"):

            def story(number: int, fault: str, when: str = when) -> bool:
                struck = self.heal(MASTERS[0], number, fault, when)
                new = self.machine(MASTERS[0]).files
                self.assertLessEqual({HELM, HELM_CONFIG, CHARTS}, set(new))
                self.assertEqual({MASTERS}, {tuple(sorted(a.addresses)) for a in self.vims.moved})
                masters = [m for m in self.world.machines.values() if m.role == "master"]
                for machine in masters:
                    self.assertEqual(sorted(m.name for m in masters), sorted(machine.backends))
                return struck

            self.assertGreater(self.all_faults(story), 30)

    def test_heal_of_the_storage_server(self) -> None:
        for when in ("start", "end"):

            def story(number: int, fault: str, when: str = when) -> bool:
                target = self.machine(STORAGE).node
                request = self.request(target.vnfc_id)
                struck = self.cured(
                    lambda s: self.heal_start(request, s),
                    number if when == "start" else 0,
                    fault,
                )
                self.assertEqual({}, self.world.volumes)
                self.replaced(target)
                after = self.request(target.vnfc_id)
                struck |= self.cured(
                    lambda s: self.heal_end(after, s),
                    number if when == "end" else 0,
                    fault,
                )
                self.assert_whole(3, 2)
                self.assertEqual(1, self.world.formatted)
                self.assertEqual({"pv1"}, set(self.world.volumes))
                return struck

            self.assertGreater(self.all_faults(story), 10)

    def test_an_election_is_waited_out(self) -> None:
        """No request to the API or to etcd needs a retry by hand where the first got no answer."""
        self.build()
        self.world.unanswered = set()
        whole = self.services()
        for address in (WORKERS[0], MASTERS[0], STORAGE):
            target = self.machine(address).node
            heal = self.request(target.vnfc_id)
            self.heal_start(heal, whole)
            self.replaced(target)
            self.heal_end(self.request(target.vnfc_id), whole)
            self.assert_whole(3, 2)
        verbs = {"get", "patch", "drain", "delete", "apply", "remove", "upload-certs"}
        self.assertEqual(set(), verbs - {word for asked in self.world.unanswered for word in asked})

    def test_scale_out_of_nothing(self) -> None:
        """Tacker has looked before Heat began."""
        self.build()
        with self.assertRaisesRegex(InventoryError, "stack_retry_wait"):
            scale_out.scale_out(self.request(), self.services(), self.vims)
        self.assertEqual(0, self.connections.total())

    def test_few_connections(self) -> None:
        """Scale-out by one takes one, and one for each master; so does the heal of a master."""
        self.build()
        new = new_node("worker", 20, "10.10.0.20")
        self.arrive(new)
        whole = self.services()
        scale_out.scale_out(self.request(new.vnfc_id), whole, self.vims)
        self.assertEqual(4, self.connections.total())
        for operation in ("start", "end"):
            self.connections.clear()
            target = self.machine(MASTERS[0]).node
            request = self.request(target.vnfc_id)
            if operation == "start":
                self.heal_start(request, whole)
                self.replaced(target)
            else:
                self.heal_end(request, whole)
            self.assertEqual({1}, set(self.connections.values()), operation)
            self.assertEqual(3, self.connections.total())


class TwoOperationsTest(SimulatedClusterTest):
    """Before every command of one operation another is asked for, as after a restart."""

    def another_is_refused(self, prepare: Callable[[], Callable[[Services], None]]) -> None:
        """Tell an operation again and again, until the other has come before each command."""
        number = refusals = 0
        count = 1
        while number < count:
            number += 1
            self.build()
            spare = self.arrive(new_node("worker", 30, "10.10.0.30"), is_member=True).node
            operation = prepare()
            number_of_command = itertools.count(1)
            refused: list[bool] = []
            request = self.request(spare.vnfc_id)

            def before(
                session: SimulatedSession,
                argv: Sequence[str],
                number: int = number,
                count_up: Iterator[int] = number_of_command,
                refused: list[bool] = refused,
                request: LcmRequest = request,
            ) -> None:
                if next(count_up) != number:
                    return
                try:
                    scale_in.scale_in(request, self.services(), self.vims)
                except MgmtDriverError as error:
                    self.assertIn("another operation works on the machine: test of VN", str(error))
                    refused.append(True)
                else:
                    # As long as the first has not come further than to look for a leader.
                    looks = {"hold-lock", "test", "kubectl"} & {named(argv)[0]}
                    self.assertTrue(looks and number <= 6, named(argv))

            operation(self.services(before))
            count = next(number_of_command) - 1
            refusals += len(refused)
            if refused:
                self.assertIn(spare.server_id, self.world.machines)
                self.assertIn(self.world.machines[spare.server_id].name, self.world.nodes)
        self.assertGreater(refusals, count // 2)

    def test_scale_in(self) -> None:
        def prepare() -> Callable[[Services], None]:
            request = self.request(*self.ids(WORKERS[0]))
            return lambda services: scale_in.scale_in(request, services, self.vims)

        self.another_is_refused(prepare)

    def test_scale_out(self) -> None:
        def prepare() -> Callable[[Services], None]:
            new = self.arrive(new_node("worker", 20, "10.10.0.20")).node
            request = self.request(new.vnfc_id)
            return lambda services: scale_out.scale_out(request, services, self.vims)

        self.another_is_refused(prepare)

    def test_heal_of_the_first_master(self) -> None:
        """From which the other would work."""
        for when in ("start", "end"):

            def prepare(when: str = when) -> Callable[[Services], None]:
                target = self.machine(MASTERS[0]).node
                request = self.request(target.vnfc_id)
                if when == "start":
                    return lambda services: self.heal_start(request, services)
                self.heal_start(request, self.services())
                self.replaced(target)
                after = self.request(target.vnfc_id)
                return lambda services: self.heal_end(after, services)

            self.another_is_refused(prepare)

    def test_a_scale_out_that_is_refused_leaves_the_others_nodes(self) -> None:
        """It is the same, of a conductor that goes on somewhere: nothing is removed behind it."""
        self.build()
        new = self.arrive(new_node("worker", 20, "10.10.0.20"), is_member=True)
        session = self.services().connect(self.endpoint(new.node), HostKeys(), Masker(()), 0)
        lock.acquire(session, "scale out of VNF vnf-1, since noon")
        with self.assertRaisesRegex(MgmtDriverError, "scale out of VNF vnf-1, since noon"):
            scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        self.assertIn(new.name, self.world.nodes)
        session.close()
        scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)

    def test_what_deletes_all_machines(self) -> None:
        """Also one from which no operation would work, and when the first masters are dead."""
        for delete in (self.begin_to_heal_all, self.begin_to_terminate):
            with self.subTest(delete.__name__):
                self.build()
                self.vims.register(Vim("vim", "", Credentials(Secret("t"), "ca")))
                worker = self.machine(WORKERS[1]).node
                session = self.services().connect(self.endpoint(worker), HostKeys(), Masker(()), 0)
                lock.acquire(session, "scale in of VNF vnf-1, since noon")
                for address in MASTERS[:2]:
                    self.machine(address).alive = False
                with self.assertRaisesRegex(OperationError, "scale in of VNF vnf-1, since noon"):
                    delete()
                self.assertIn("vim", self.vims.registered)
                session.close()
                delete()
                holders = [m.holder for m in self.world.machines.values()]
                self.assertTrue(all(o.broken for o in holders if o))

    def test_machines_that_are_dead_are_deleted(self) -> None:
        """The trace has no failure of theirs; nor is anything else a reason to keep them."""
        for delete in (self.begin_to_heal_all, self.begin_to_terminate):
            with self.subTest(delete.__name__):
                self.build()
                for machine in self.world.machines.values():
                    machine.alive = False
                delete()
                self.assertFalse((self.package / "traces").exists())
                self.world.machines.clear()
                delete()

    def begin_to_heal_all(self) -> None:
        services = self.services(trace_folder=self.package / "traces")
        self.heal_start(self.request(), services)
        self.assertEqual({}, self.vims.registered)

    def begin_to_terminate(self) -> None:
        services = self.services(trace_folder=self.package / "traces")
        terminate.check_unlocked("vnf-1", services, self.request)

    def endpoint(self, node: Node) -> Endpoint:
        return Endpoint(next(iter(node.addresses.values())), "ubuntu", None, node.server_id)
