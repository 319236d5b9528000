"""Faults, and what Tacker does of its own accord."""

import contextlib
import json
import os
import random
import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

from mgmt_drivers.cluster.self_healing.rails import held
from tools.client import kept_objects, node_faults, self_heal, vim_rights, wait
from tools.client.errors import ClientError
from tools.client.machines import Remote
from tools.client.node_faults import FAULTS, HARMLESS, MASTER, WORKER, Machine
from tools.client.self_heal import Watch

BEGAN = self_heal.seconds("2026-01-01T00:00:00Z")


def machine(name: str, vdu: str = WORKER) -> Machine:
    return Machine(f"vnfc-{name}", vdu, f"server-{name}", Remote(f"192.0.2.{ord(name)}", ""))


def heal(
    id_: str, state: str = "COMPLETED", *vnfcs: str, auto: bool = True, error: str = ""
) -> dict[str, Any]:
    return {
        "id": id_, "operation": "HEAL", "operationState": state, "isAutomaticInvocation": auto,
        "startTime": "2026-01-01T00:00:50Z", "stateEnteredTime": "2026-01-01T00:02:00Z",
        "operationParams": {"vnfcInstanceId": [*vnfcs]}, "error": {"detail": error},
    }


class FaultsTest(unittest.TestCase):
    def names(self, count: int, seed: int) -> list[str]:
        return [fault.name for fault in node_faults.sequence(FAULTS, count, seed)]

    def test_a_seed_repeats_a_run(self) -> None:
        self.assertEqual(self.names(20, 7), self.names(20, 7))
        self.assertNotEqual(self.names(20, 7), self.names(20, 8))

    def test_each_fault_comes_before_one_comes_again(self) -> None:
        drawn = self.names(len(FAULTS) + 3, 1)
        self.assertEqual({fault.name for fault in FAULTS}, {*drawn[: len(FAULTS)]})
        self.assertEqual(len(FAULTS) + 3, len(drawn))

    def test_harmless_faults_heal_nothing(self) -> None:
        self.assertTrue(all(fault.heals for fault in FAULTS))
        self.assertFalse(any(fault.heals for fault in HARMLESS))

    def test_a_host_with_two_masters_is_not_taken_down(self) -> None:
        hosts = {"a": "one", "b": "one", "c": "two", "d": "two"}
        machines = [machine("a", MASTER), machine("b", MASTER), machine("c", MASTER), machine("d")]
        site: Any = SimpleNamespace(
            machines=lambda: machines, host=lambda m: hosts[m.server_id[-1]]
        )
        for seed in range(10):
            chosen = node_faults.on_one_host(site, random.Random(seed))
            self.assertEqual(machines[2:], chosen)

    def test_a_host_with_more_machines_than_may_be_ill_is_not_taken_down(self) -> None:
        machines = [machine(name) for name in "abc"]
        site: Any = SimpleNamespace(machines=lambda: machines, host=lambda m: "one")
        with self.assertRaisesRegex(ClientError, "more than two machines"):
            node_faults.on_one_host(site, random.Random(1))

    def test_commands_run_after_the_login_has_ended(self) -> None:
        with mock.patch.object(Remote, "run") as run, node_faults.rebooted(None, [machine("a")]):
            (command,) = run.call_args.args
        self.assertIn("systemd-run", command)
        self.assertIn("sh -c 'sleep 1; systemctl reboot'", command)

    def test_a_cut_network_is_mended_by_the_opposite_rules(self) -> None:
        (cut,) = (fault for fault in HARMLESS if "cut" in fault.name)
        with mock.patch.object(Remote, "run") as run, cut.strike(None, [machine("a")]):  # type: ignore[arg-type]
            (command,) = run.call_args.args
        first, _, last = command.partition("sleep 20; ")
        self.assertEqual(first.count(" -I "), last.count(" -D "))
        self.assertEqual(3, last.count(" -D "))


class WatchTest(unittest.TestCase):
    def setUp(self) -> None:
        self.listed: list[dict[str, Any]] = [heal("before")]
        self.servers = ["server-a"]
        self.alerts: list[dict[str, Any]] = []
        vnf = mock.Mock(id="v1", occurrences=lambda: self.listed)
        vnf.name = "cluster"
        vnf.occurrence = lambda id_: next(o for o in self.listed if o["id"] == id_)
        vnf.vnfcs = lambda: [{"computeResource": {"resourceId": s}} for s in self.servers]
        for patch in (
            mock.patch.object(self_heal.time, "time", lambda: BEGAN),
            mock.patch.object(wait.time, "sleep"),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        prometheus: Any = SimpleNamespace(alerts=lambda *_: self.alerts)
        self.watch = Watch(vnf, prometheus)

    def test_only_operations_that_nobody_asked_for_count(self) -> None:
        self.listed += [heal("typed", auto=False), heal("own")]
        self.assertEqual(["own"], [o["id"] for o in self.watch.occurrences()])

    def test_the_times_of_a_heal(self) -> None:
        self.listed.append(heal("own", "COMPLETED", "vnfc-a"))
        self.servers = ["server-new"]
        self.alerts = [
            {"activeAt": "2025-12-31T23:00:00.5Z"},  # of a fault before
            {"activeAt": "2026-01-01T00:00:30.123456789Z"},
        ]
        times = self.watch.await_heal([machine("a")], 1)
        self.assertEqual((30, 50, 120), (times.detected, times.begun, times.ended))

    def test_a_heal_that_has_failed_is_named(self) -> None:
        self.listed.append(heal("own", "FAILED_TEMP", "vnfc-a", error="no room"))
        with self.assertRaisesRegex(ClientError, "FAILED_TEMP: no room"):
            self.watch.await_heal([machine("a")], 1)

    def test_a_heal_that_a_rail_refused_is_asked_for_again(self) -> None:
        self.listed.append(heal("first", "FAILED", "vnfc-a", error=held("share", [])))
        self.listed.append(heal("second", "COMPLETED", "vnfc-a"))
        self.servers = ["server-new"]
        self.assertEqual(120, self.watch.await_heal([machine("a")], 1).ended)

    def test_a_machine_without_a_successor_is_not_healed(self) -> None:
        self.listed.append(heal("own", "COMPLETED", "vnfc-b"))
        with (
            mock.patch.object(wait.time, "monotonic", side_effect=[0, 2]),
            self.assertRaisesRegex(TimeoutError, "server-a"),
        ):
            self.watch.await_heal([machine("a")], 1)

    def test_wrong_heals(self) -> None:
        done = [
            heal("1", "COMPLETED", "vnfc-a", "vnfc-b"),
            heal("2", "PROCESSING", "vnfc-c"),
            heal("3", "FAILED_TEMP", "vnfc-d", error=held("quorum", [])),
        ]
        self.assertEqual(["vnfc-b", "vnfc-c"], self_heal.strangers(done, [machine("a")]))


class KeptObjectsTest(unittest.TestCase):
    def kept(self) -> kept_objects.KeptObjects:
        secret = json.dumps({"data": {"ca.crt": "Y2E=", "token": "dG9rZW4="}})
        with (
            mock.patch.object(Remote, "run", return_value=secret),
            mock.patch.object(vim_rights, "extend"),
        ):
            kept = kept_objects.KeptObjects("https://192.0.2.9:16443", Remote("192.0.2.1", ""))
        self.addCleanup(kept._folder.cleanup)
        return kept

    def test_the_clusters_ca_counts_whatever_the_environment_says(self) -> None:
        kept = self.kept()
        with mock.patch.dict(os.environ, REQUESTS_CA_BUNDLE="/dev/null"):
            settings = kept._session().merge_environment_settings(kept._url, {}, None, None, None)
        self.assertEqual(str(kept._ca), settings["verify"])

    def test_what_the_api_has_acknowledged_and_does_not_have_is_lost(self) -> None:
        kept = self.kept()
        kept._written = {"one", "two"}
        answer = mock.Mock(json=lambda: {"items": [{"metadata": {"name": "two"}}]})
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(kept_objects, "ask", return_value=answer))
            stack.enter_context(mock.patch.object(kept_objects, "log"))
            self.assertEqual({"one"}, kept.lost())
