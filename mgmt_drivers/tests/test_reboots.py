"""Machines that cloud-init reboots while an operation waits for cloud-init."""

from collections.abc import Sequence

from mgmt_drivers.errors import ConnectionFailed, MgmtDriverError, OperationError
from mgmt_drivers.testing.fakes import named
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    WORKERS,
    SimulatedClusterTest,
)
from mgmt_drivers.testing.simulation import SimulatedSession


class RebootsTest(SimulatedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build(is_clustered=False)

    def test_the_operation_goes_on_after_reboots(self) -> None:
        for address, reboots in ((MASTERS[0], 2), (WORKERS[0], 3), (WORKERS[1], 0)):
            self.machine(address).reboots = reboots
        unlocked = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            if session.machine.holder is not session:
                unlocked.append(named(argv))

        self.instantiate(self.services(note))
        self.assert_whole(3, 2)
        self.assertEqual([3, 4, 1], [
            self.connections[address] for address in (MASTERS[0], WORKERS[0], WORKERS[1])
        ])
        # Whoever is connected has the machine.
        self.assertEqual({"hold-lock"}, {words[0] for words in unlocked})

    def commands_until_a_reboot(self, number: int) -> list[str]:
        """Instantiate; a machine reboots at that command; returns its commands until then."""
        self.build(is_clustered=False)
        self.machine(MASTERS[0]).reboots = 0
        commands: list[str] = []

        def reboot(session: SimulatedSession, argv: Sequence[str]) -> None:
            if session.machine.address == MASTERS[0] and len(commands) < number:
                commands.append(named(argv)[0])
                session.broken = len(commands) == number

        self.instantiate(self.services(reboot))
        return commands

    def test_a_reboot_before_the_wait(self) -> None:
        """Whatever a new machine is asked first: its lock, whether it is a node, Helm's login."""
        commands: list[str] = []
        while "wait-for-cloud-init" not in commands:
            commands = self.commands_until_a_reboot(len(commands) + 1)
            self.assert_whole(3, 2)
            self.assertEqual(2, self.connections[MASTERS[0]])
        self.assertEqual("hold-lock", commands[0])

    def test_a_machine_that_reboots_again_and_again(self) -> None:
        self.machine(WORKERS[0]).reboots = 4
        with self.assertRaisesRegex(MgmtDriverError, "has rebooted more than 3 times"):
            self.instantiate(self.services())

    def test_a_machine_that_does_not_come_back(self) -> None:
        self.machine(WORKERS[0]).reboots = 1

        def die(session: SimulatedSession, argv: Sequence[str]) -> None:
            if named(argv)[0] == "wait-for-cloud-init":
                self.deaf.add(session.machine.address)

        with self.assertRaisesRegex(OperationError, f"cloud-init.*{WORKERS[0]}.* no answer"):
            self.instantiate(self.services(die))

    def test_no_other_phase_takes_a_lost_connection_for_a_reboot(self) -> None:
        def cut(session: SimulatedSession, argv: Sequence[str]) -> None:
            if named(argv)[0] == "date":
                raise ConnectionFailed("cut off")

        with self.assertRaisesRegex(OperationError, "phase 'compare clocks'.*cut off"):
            self.instantiate(self.services(cut))
