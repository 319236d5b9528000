"""Every remote command of scale-out and heal fails once; trying again ends right."""

import threading
from collections.abc import Callable, Sequence

from mgmt_drivers import kubernetes
from mgmt_drivers.driver import Surroundings
from mgmt_drivers.errors import CommandTimeout, ConnectionFailed, InventoryError, MgmtDriverError
from mgmt_drivers.tests.simulated import MASTERS, STORAGE, WORKERS, SimulatedClusterTest, new_node
from mgmt_drivers.tests.simulation import SimulatedSession

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

    def after(self, session: SimulatedSession, argv: Sequence[str]) -> None:
        if session.strikes and self.fault == "is cut off":  # type: ignore[attr-defined]
            session.broken = True
            raise ConnectionFailed("cut off")


class FaultsTest(SimulatedClusterTest):
    """Told again and again, each time with another fault."""

    def cured(self, operation: Callable[[Surroundings], None], number: int, fault: str) -> bool:
        """Carry an operation out with a fault, and again if it failed; whether it struck."""
        injector = Injector(number, fault)
        try:
            operation(self.surroundings(injector.before, injector.after))
        except MgmtDriverError:
            self.assertTrue(injector.struck, "it failed of itself")
            for machine in self.world.machines.values():
                machine.alive = True
            operation(self.surroundings())
        for machine in self.world.machines.values():
            machine.alive = True
        return injector.struck

    def all_faults(self, story: Callable[[int, str], bool]) -> int:
        """Tell a story for each fault at each command until none is left; how many struck."""
        total = 0
        for fault in FAULTS:
            number, struck = 1, True
            while struck:
                self.build()
                struck = False  # what fails is no reason to go on without end
                with self.subTest(fault=fault, command=number):
                    struck = story(number, fault)
                total += struck
                number += 1
        return total

    def test_scale_out(self) -> None:
        def story(number: int, fault: str) -> bool:
            new = [new_node("worker", n, f"10.10.0.{n}") for n in (20, 200)]
            for node in new:
                self.arrive(node)
            request = self.request(*(node.vnfc_id for node in new))
            struck = self.cured(lambda s: kubernetes.scale_out(request, s), number, fault)
            self.assert_whole(3, 4)
            return struck

        self.assertGreater(self.all_faults(story), 100)

    def heal(self, address: str, number: int, fault: str, when: str) -> bool:
        target = self.machine(address).node
        name = self.world.machines[target.server_id].name
        self.world.nodes[name]["metadata"]["labels"]["rack"] = "r7"
        request = self.request(target.vnfc_id)

        def start(surroundings: Surroundings) -> None:
            kubernetes.heal_start(request, surroundings, self.marks, self.save_marks)

        struck = self.cured(start, number if when == "start" else 0, fault)
        self.assertNotIn(name, self.world.nodes)
        self.replaced(target)
        after = self.request(target.vnfc_id)

        def end(surroundings: Surroundings) -> None:
            kubernetes.heal_end(after, surroundings, self.marks)

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
                    lambda s: kubernetes.heal_start(request, s, self.marks, self.save_marks),
                    number if when == "start" else 0,
                    fault,
                )
                self.assertEqual({}, self.world.volumes)
                self.replaced(target)
                after = self.request(target.vnfc_id)
                struck |= self.cured(
                    lambda s: kubernetes.heal_end(after, s, self.marks),
                    number if when == "end" else 0,
                    fault,
                )
                self.assert_whole(3, 2)
                self.assertEqual(1, self.world.formatted)
                self.assertEqual({"pv1"}, set(self.world.volumes))
                return struck

            self.assertGreater(self.all_faults(story), 10)

    def test_an_election_is_outlasted(self) -> None:
        """No request to the API or to etcd needs a retry by hand where the first got no answer."""
        self.build()
        self.world.unanswered = set()
        whole = self.surroundings()
        for address in (WORKERS[0], MASTERS[0], STORAGE):
            target = self.machine(address).node
            heal = self.request(target.vnfc_id)
            kubernetes.heal_start(heal, whole, self.marks, self.save_marks)
            self.replaced(target)
            kubernetes.heal_end(self.request(target.vnfc_id), whole, self.marks)
            self.assert_whole(3, 2)
        verbs = {"get", "patch", "drain", "delete", "apply", "remove", "upload-certs"}
        self.assertEqual(set(), verbs - {word for asked in self.world.unanswered for word in asked})

    def test_scale_out_of_nothing(self) -> None:
        """Tacker has looked before Heat began."""
        self.build()
        with self.assertRaisesRegex(InventoryError, "stack_retry_wait"):
            kubernetes.scale_out(self.request(), self.surroundings())
        self.assertEqual(0, self.connections.total())

    def test_few_connections(self) -> None:
        """Scale-out by one takes two, heal of a master at most one for each machine."""
        self.build()
        new = new_node("worker", 20, "10.10.0.20")
        self.arrive(new)
        whole = self.surroundings()
        kubernetes.scale_out(self.request(new.vnfc_id), whole)
        self.assertEqual(2, self.connections.total())
        for operation in ("start", "end"):
            self.connections.clear()
            target = self.machine(MASTERS[0]).node
            request = self.request(target.vnfc_id)
            if operation == "start":
                kubernetes.heal_start(request, whole, self.marks, self.save_marks)
                self.replaced(target)
            else:
                kubernetes.heal_end(request, whole, self.marks)
            self.assertEqual({1}, set(self.connections.values()), operation)
            self.assertEqual(3, self.connections.total())
