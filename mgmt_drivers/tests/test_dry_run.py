"""The dry run of a plan: what is asked, what is told, and what is left alone."""

import unittest
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster.series import read_version
from mgmt_drivers.engine.dry_run import DryRun
from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.phase import DEPENDS, Change, Check, HostPhase, Phase, Prediction, on
from mgmt_drivers.engine.trace import CHANGED, Outcome
from mgmt_drivers.errors import MgmtDriverError, NotMade, OperationError
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.testing.fakes import FakeSession, services
from mgmt_drivers.testing.outline import all_phases

NODES = [Node(f"vnfc-{n}", "VDU", f"server-{n}", {"CP1": f"192.0.2.{n}"}) for n in (1, 2, 3)]


@dataclass(frozen=True)
class Context:
    hosts: Sequence[Host]


class Touch(Change[Context, str]):
    """Has work on the first host; the third is yet to be made."""

    title = "touch"

    def look(self, host: Host, context: Context) -> str | None:
        if host.node is NODES[2]:
            raise NotMade("who?")
        return "work" if host.node is NODES[0] else None

    def describe(self, change: str) -> str:
        return f"do {change}"

    def act(self, host: Host, context: Context, change: str) -> None:
        raise AssertionError("a dry run acts")


class Agree(Check[Context]):
    title = "agree"

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[Node] = []

    def check(self, host: Host, context: Context) -> None:
        self.asked.append(host.node)
        if self.error:
            raise self.error


class Guess(HostPhase[Context]):
    title = "guess"
    prediction = Prediction(DEPENDS, "on the weather")

    def prepares(self, context: Context) -> Sequence[Host]:
        return context.hosts[:1]

    def step(self, host: Host, context: Context) -> Outcome:
        return CHANGED


class DryRunTest(unittest.TestCase):
    def dry_run(self, *plan: Phase[Context]) -> list[tuple[str, str, str, str]]:
        dry_run, sessions = DryRun(), [FakeSession() for _ in NODES]

        def connect(endpoint: Endpoint, *rest: Any) -> FakeSession:
            return sessions[int(endpoint.server_id[-1]) - 1]

        def endpoint(node: Node) -> Endpoint:
            return Endpoint(node.address("CP1"), "ubuntu", None, node.server_id)

        given = services(connect=connect, dry_run=dry_run)
        request = LcmRequest("scale", "vnf-1", Path(), {}, {})
        with Operation(request, given, NODES, endpoint, ()) as operation:
            hosts = operation.connect(NODES)
            operation.run(Context(hosts), on(hosts, *plan))
        self.assertEqual([[], [], []], [session.held for session in sessions])
        self.assertEqual([1, 1, 1], [session.closed for session in sessions])
        return [
            (line.phase, line.node.vnfc_id, line.prediction.outcome, line.prediction.reason)
            for line in dry_run.lines
        ]

    def test_looks_tell_and_nothing_acts(self) -> None:
        first, second = Agree(), Agree()
        self.assertEqual(
            [
                *(("agree", f"vnfc-{n}", "checked", "") for n in (1, 2, 3)),
                ("touch", "vnfc-1", "changed", "do work"),
                ("touch", "vnfc-2", "unchanged", ""),
                ("touch", "vnfc-3", "changed", "the machine is new"),
                *(("agree", f"vnfc-{n}", "checked", "afterwards") for n in (1, 2, 3)),
            ],
            self.dry_run(first, Touch(), second),
        )
        self.assertEqual(NODES, sorted(first.asked, key=str))
        self.assertEqual([], second.asked)

    def test_what_only_the_step_can_tell(self) -> None:
        told = self.dry_run(Guess())
        self.assertEqual(("guess", "vnfc-1", "changed", "for the other machines"), told[0])
        self.assertEqual(["depends"] * 3, [outcome for _, _, outcome, _ in told[1:]])

    def test_checks_on_machines_that_are_yet_to_be_made(self) -> None:
        told = self.dry_run(Agree(NotMade("who?")))
        self.assertEqual(["checked"] * 3, [outcome for _, _, outcome, _ in told])

    def test_what_would_be_refused(self) -> None:
        with self.assertRaisesRegex(OperationError, "vnfc-1.*no quorum.*vnfc-3.*no quorum"):
            self.dry_run(Agree(MgmtDriverError("no quorum")))


class PredictionTest(unittest.TestCase):
    def test_every_phase_is_predicted(self) -> None:
        phases = {*all_phases()}
        self.assertGreater(len(phases), 40)
        for phase in phases:
            self.assertTrue(phase.prediction or phase.predict is not Phase.predict, phase)

    def test_releases_of_a_version(self) -> None:
        for version, release, wanted in (
            ("1.37.2", "v1.37.2", True),
            ("1.37.2", "v1.37.1", False),
            ("1.37", "v1.37.1", None),
            ("1.37", "v1.36.9", False),
            ("1.37.2", "v1.36.2", False),
            ("1.37", "v2.0.0", False),
        ):
            found = read_version(version)
            assert found
            with self.subTest(version=version, release=release):
                self.assertIs(wanted, found.is_release(release))
