"""The certificates of a simulated cluster: renewed by the way, and on request."""

import base64
import json
import os
import subprocess
import tempfile
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mgmt_drivers.cluster.certificates import certificates
from mgmt_drivers.cluster.certificates.certificates import (
    AUTHORITIES,
    CERTIFICATES,
    KUBELET,
    PENDING,
    RENEWED,
    SERVING,
    NodeState,
)
from mgmt_drivers.cluster.kubeadm import kubelet
from mgmt_drivers.cluster.kubeadm.control_plane import PROGRAMS
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import CommandFailed, MgmtDriverError, ParameterError
from mgmt_drivers.operations import modify, scale_in, scale_out
from mgmt_drivers.testing.fakes import FakeClock, fake_host, named
from mgmt_drivers.testing.made_certificates import lasting, signed
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    STORAGE,
    WORKERS,
    SimulatedClusterTest,
    new_node,
)
from mgmt_drivers.testing.simulated_world import KUBECONFIG, Machine
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.tests.test_faults import FaultsTestCase

RENEW = {"renew_certificates": True}


class AgingClusterTest(SimulatedClusterTest):
    """A cluster whose certificates have nine days left."""

    def build(self, is_clustered: bool = True) -> None:
        super().build(is_clustered)
        self.world.age(9.0)

    def masters(self) -> list[Machine]:
        return [m for m in self.world.machines.values() if m.role == "master"]

    def renew(self, services: Services | None = None) -> None:
        modify.modify(self.request(), services or self.services(), self.vims, RENEW)

    def scale_out(self, services: Services | None = None, number: int = 20) -> None:
        new = self.arrive(new_node("worker", number, f"10.10.0.{number}")).node
        scale_out.scale_out(self.request(new.vnfc_id), services or self.services(), self.vims)

    def off_for_more_than_a_year(self) -> None:
        """All machines are rebooted, and no certificate of a year is valid any more."""
        self.world.age(-30.0)
        for machine in self.world.machines.values():
            if machine.certificates:
                machine.certify(-30.0, KUBELET)
                machine.reboot()

    def assert_renewed(self, *machines: Machine) -> None:
        """Certificates last, and every program uses them."""
        for machine in machines or self.masters():
            left = {name: machine.certificates[name][0] for name in RENEWED}
            self.assertEqual(dict.fromkeys(RENEWED, self.world.validity), left, machine.name)
            found = {program: machine.outdated(program) for program in machine.programs}
            self.assertEqual(dict.fromkeys(PROGRAMS, []), found, machine.name)
            self.assertNotIn(PENDING, machine.files)


class RenewalTest(AgingClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def noted(self) -> tuple[list[str], Callable[[SimulatedSession, Sequence[str]], None]]:
        """What happens to control-plane nodes, in its order, and what notes it."""
        order: list[str] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            name = session.machine.address
            if "renew" in argv:
                order.append(f"renew {name}")
            if named(argv)[:2] == ("static-pods", "end"):
                order.append(f"restart {name}")
            if "/readyz" in argv:
                order.append(f"ready {name}")

        return order, note

    def test_a_scale_out_renews_one_node_after_another(self) -> None:
        order, note = self.noted()
        self.scale_out(self.services(note))
        self.assert_renewed()
        self.assert_whole(3, 3)
        each = [[f"restart {name}", f"ready {name}"] for name in MASTERS]
        wanted = [*(f"renew {name}" for name in MASTERS), *sum(each, [])]
        self.assertEqual([f"ready {MASTERS[0]}", *wanted], order)

    def test_the_load_balancers_leave_out_the_node_whose_programs_end(self) -> None:
        order: list[tuple[str, list[set[str]]]] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            if named(argv)[:2] == ("static-pods", "end"):
                left_out = [set(machine.left_out) for machine in self.masters()]
                order.append((session.machine.name, left_out))

        self.renew(self.services(note))
        expected = [(machine.name, [{machine.name}] * 3) for machine in self.masters()]
        self.assertEqual(expected, order)
        self.assertEqual([set()] * 3, [machine.left_out for machine in self.masters()])

    def test_the_login_users_kubeconfig(self) -> None:
        self.params = {name: value for name, value in self.params.items() if name != "helm"}
        self.renew()
        self.assertTrue(all(KUBECONFIG in machine.files for machine in self.masters()))

    def test_a_scale_in(self) -> None:
        scale_in.scale_in(self.request(*self.ids(WORKERS[0])), self.services(), self.vims)
        self.assert_renewed()

    def test_heals(self) -> None:
        """After the new machine has come: before, a restart could cost etcd its quorum."""
        for address in (WORKERS[0], STORAGE, MASTERS[0]):
            self.build()
            target = self.machine(address).node
            order, note = self.noted()
            self.heal_start(self.request(target.vnfc_id), self.services(note))
            self.assertNotIn("renew", str(order))
            self.replaced(target)
            self.heal_end(self.request(target.vnfc_id), self.services(note))
            self.assertIn("renew", str(order))
            self.assert_renewed()

    def test_an_upgrade_to_the_release_that_the_cluster_has(self) -> None:
        """kubeadm upgrades nothing then, and renews nothing."""
        self.params = {**self.params, "kubernetes_version": "1.36.4"}
        self.world.have("v1.36.4")
        wanted = {"kubernetes_version": "1.36.4"}
        modify.modify(self.request(), self.services(), self.vims, wanted)
        self.assert_renewed()

    def test_what_lasts_is_left_alone_and_costs_one_command(self) -> None:
        self.world.age(91.0)
        asked: list[str] = []
        order, note = self.noted()

        def count(session: SimulatedSession, argv: Sequence[str]) -> None:
            note(session, argv)
            if session.machine.role == "master" and session.machine.address != MASTERS[0]:
                asked.append(named(argv)[0])

        self.scale_out(self.services(count))
        self.assertEqual([f"ready {MASTERS[0]}"], order)
        # The lock; a look.
        self.assertEqual(["hold-lock"] * 2 + ["show-certificates"] * 2, sorted(asked))

    def test_one_node_has_less_than_the_others(self) -> None:
        self.world.age(200.0)
        one = self.machine(MASTERS[1])
        one.certify(89.0, "front-proxy-client")
        one.start("kube-apiserver")
        self.scale_out()
        self.assert_renewed(one)
        self.assertEqual(200.0, self.machine(MASTERS[0]).certificates["apiserver"][0])

    def test_a_node_that_does_not_answer_holds_nothing_up(self) -> None:
        self.deaf.add(MASTERS[2])
        self.scale_out()
        self.assert_renewed(*(self.machine(address) for address in MASTERS[:2]))
        self.assertEqual(9.0, self.machine(MASTERS[2]).certificates["apiserver"][0])

    def test_a_machine_that_has_not_joined_yet(self) -> None:
        """Between the hooks of a heal it has no certificates."""
        target = self.machine(MASTERS[0]).node
        self.heal_start(self.request(target.vnfc_id), self.services())
        self.replaced(target)
        scale_in.scale_in(self.request(*self.ids(WORKERS[0])), self.services(), self.vims)
        self.assert_renewed(*(self.machine(address) for address in MASTERS[1:]))
        with self.assertRaisesRegex(MgmtDriverError, f"{MASTERS[0]}.* does not belong to the clu"):
            self.renew()
        self.heal_end(self.request(target.vnfc_id), self.services())
        self.assert_renewed()

    def test_on_request_all_must_answer(self) -> None:
        self.deaf.add(MASTERS[2])
        with self.assertRaisesRegex(MgmtDriverError, f"renewal of cert.*{MASTERS[2]}.* no answer"):
            self.renew()
        self.assertEqual({9.0}, {m.certificates["apiserver"][0] for m in self.masters()})

    def test_on_request_whatever_is_left(self) -> None:
        self.world.age(350.0)
        self.renew()
        self.assert_renewed()

    def test_on_request_by_the_validity_that_the_cluster_has(self) -> None:
        self.world.have("v1.36.4")
        serving = [machine for machine in self.world.machines.values() if machine.certificates]
        for days in (200.0, 730.0):
            fields = {"certificateValidityPeriod": f"{days:.0f}d"}
            version = {"kubernetes_version": "1.36.4", "cluster_configuration": fields}
            self.params, self.world.validity = {**self.params, **version}, days
            self.world.age(days - 1.5)
            for machine in serving:
                machine.certify(363.0, SERVING)
            self.renew()
            self.assert_renewed()
            left = {machine.certificates[SERVING][0] for machine in serving}
            self.assertEqual({365.0}, left)
            self.assert_renewed_no_more()

    def test_a_request_again_renews_nothing_again(self) -> None:
        self.renew()
        self.assert_renewed_no_more()

    def assert_renewed_no_more(self) -> None:
        order, note = self.noted()
        self.renew(self.services(note))
        self.assertEqual([f"ready {name}" for name in (MASTERS[0], *MASTERS)], order)

    def test_a_node_that_was_not_verified_is_restarted_and_verified_again(self) -> None:
        def fail(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "/readyz" in argv and session.machine.address == MASTERS[2]:
                raise MgmtDriverError("the API does not come up")

        for _ in range(2):
            with self.assertRaisesRegex(MgmtDriverError, f"{MASTERS[2]}.* the API does not come"):
                self.renew(self.services(fail))
        self.assertEqual([*PROGRAMS] * 2, self.machine(MASTERS[2]).ended)

    def test_a_renewal_that_was_broken_off_is_found(self) -> None:
        """The files are new, and programs still use the old ones: the marker tells."""

        def break_off(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "end" in named(argv):
                raise MgmtDriverError("broken off")

        with self.assertRaisesRegex(MgmtDriverError, "broken off"):
            self.renew(self.services(break_off))
        order, note = self.noted()
        self.scale_out(self.services(note))
        self.assert_renewed()
        self.assertNotIn("renew", str(order))

    def test_a_renewal_that_was_broken_off_before_a_file_was_written(self) -> None:
        def break_off(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "renew" in argv:
                raise MgmtDriverError("broken off")

        with self.assertRaisesRegex(MgmtDriverError, "broken off"):
            self.renew(self.services(break_off))
        self.renew()
        self.assert_renewed()
        self.assertEqual([], [m.address for m in self.masters() if PENDING in m.files])

    def test_certificates_that_have_expired(self) -> None:
        """No apiserver is ready, kubectl gets in nowhere, and kubelet has given an apiserver up."""
        self.world.age(-1.0)
        names = {machine.name for machine in self.masters()}
        self.world.unhealthy = set(names)
        self.machine(MASTERS[0]).programs.pop("kube-apiserver")
        self.machine(MASTERS[0]).failed.add("kube-apiserver")
        restarted: list[str] = []

        def mend(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "renew" in argv:
                self.world.unhealthy.discard(session.machine.name)
            if tuple(argv) == ("systemctl", "restart", "kubelet"):
                restarted.append(session.machine.address)

        with self.assertRaisesRegex(MgmtDriverError, "apiserver is not ready"):
            self.scale_out(self.services(mend))
        self.world.machines.popitem()
        self.renew(self.services(mend))
        self.assert_renewed()
        self.assertEqual([*MASTERS], restarted)

    def test_a_cluster_that_was_off_for_more_than_a_year(self) -> None:
        self.off_for_more_than_a_year()
        self.assertFalse(any(m.programs or m.kubelet_runs for m in self.masters()))
        self.renew()
        self.assert_renewed()
        nodes = [m for m in self.world.machines.values() if m.certificates]
        self.assertEqual([(365.0, True)] * 5,
                         [(m.certificates[KUBELET][0], m.kubelet_runs) for m in nodes])
        order, note = self.noted()
        self.renew(self.services(note))
        self.assertNotIn("restart", str(order))

    def test_a_worker_that_does_not_answer_holds_no_renewal_up(self) -> None:
        self.off_for_more_than_a_year()
        self.deaf.add(WORKERS[0])
        self.renew()
        self.assert_renewed()
        self.assertTrue(self.machine(WORKERS[1]).kubelet_runs)

    def test_nothing_is_ended_before_kubelet_has_started(self) -> None:
        """A kubelet that fails for another reason, and one whose certificate nobody can issue."""
        def fail(session: SimulatedSession, argv: Sequence[str]) -> None:
            if tuple(argv) == ("systemctl", "restart", "kubelet"):
                session.machine.kubelet_runs = False

        with self.assertRaisesRegex(MgmtDriverError, "kubelet's start .`journalctl -u kubelet`"):
            self.renew(self.services(after=fail))
        self.build()
        self.machine(MASTERS[1]).certify(-1.0, KUBELET)

        def refuse(session: SimulatedSession, argv: Sequence[str]) -> None:
            if named(argv)[0] == "issue-kubelet-certificate":
                raise CommandFailed("kubeadm", 1, "couldn't load ca.key")

        words = "issues no client certificate for kubelet: .*ca.key.* its owner has to issue it"
        with self.assertRaisesRegex(MgmtDriverError, words):
            self.renew(self.services(refuse))
        self.assertEqual([], [program for m in self.masters() for program in m.ended])

    def test_what_kubeadm_cannot_renew(self) -> None:
        """A CA whose key lies elsewhere: kubeadm says so, and ends well."""

        def keep(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "renew" in argv:
                session.machine.certificates["front-proxy-client"] = (9.0, 2)

        with self.assertRaisesRegex(MgmtDriverError, "did not renew front-proxy-client: if"):
            self.renew(self.services(after=keep))

    def test_a_program_that_does_not_come_up(self) -> None:
        def fail(session: SimulatedSession, argv: Sequence[str]) -> None:
            session.machine.programs.pop("kube-scheduler", None)

        words = "restart the control plane.*in new containers.*kube-scheduler does not run.*not"
        with self.assertRaisesRegex(MgmtDriverError, f"{words} tried after that: .*{MASTERS[1]}"):
            self.renew(self.services(fail))

    def test_a_program_that_does_not_end(self) -> None:
        def keep(session: SimulatedSession, argv: Sequence[str]) -> None:
            if named(argv)[:2] == ("static-pods", "end"):
                session.machine.start("kube-scheduler")
                session.machine.ended.remove("kube-scheduler")

        words = "programs in new containers.*kube-scheduler has not ended yet"
        with self.assertRaisesRegex(MgmtDriverError, words):
            self.renew(self.services(after=keep))

    def test_an_apiserver_that_fails_for_minutes(self) -> None:
        """kubelet tries again after five minutes at the latest."""
        clock = FakeClock()

        def fail(session: SimulatedSession, argv: Sequence[str]) -> None:
            if named(argv)[:2] == ("static-pods", "end"):
                self.world.unhealthy = {session.machine.name} if clock.now < 300.0 else set()
            if clock.now > 400.0:
                self.world.unhealthy = set()

        self.renew(self.services(fail, clock=clock))
        self.assert_renewed()

    def test_the_vim_stays(self) -> None:
        self.vims.registered = {"kept": None}  # type: ignore[dict-item]
        self.renew()
        self.assertEqual(["kept"], list(self.vims.registered))

    def test_the_parameter(self) -> None:
        for wanted, words in (
            ({"renew_certificates": "yes"}, "renew_certificates: must be true or false"),
            ({"renew_certificates": False}, "changes nothing: name renew_certificates"),
            ({**RENEW, "kubernetes_version": "1.37"}, "kubernetes_version: cannot be combined"),
            ({**RENEW, "workers_at_once": 2}, "workers_at_once: cannot be combined with renew_"),
            ({**RENEW, "image_repository": "a/b"}, "image_repository: cannot be combined with"),
        ):
            with self.subTest(wanted), self.assertRaisesRegex(ParameterError, words):
                modify.validate(self.request(), self.store, wanted)
        (self.package / "install_k8s_cluster.sh").write_text("a script that cannot upgrade")
        modify.validate(self.request(), self.store, json.dumps(RENEW))


class ServingTest(AgingClusterTest):
    """Serving certificates of kubelets, in a cluster that these drivers have made."""

    def setUp(self) -> None:
        super().setUp()
        self.build(is_clustered=False)
        self.instantiate(self.services())

    def nodes(self) -> list[Machine]:
        return [m for m in self.world.machines.values() if m.role != "storage"]

    def left(self) -> set[float]:
        return {machine.certificates[SERVING][0] for machine in self.nodes()}

    def age(self, days: float) -> None:
        for machine in self.nodes():
            machine.certify(days, SERVING)

    def test_all_nodes_have_one_whatever_brought_them(self) -> None:
        self.scale_out()
        for address in (MASTERS[0], WORKERS[0]):
            target = self.machine(address).node
            self.heal_start(self.request(target.vnfc_id), self.services())
            self.replaced(target)
            self.heal_end(self.request(target.vnfc_id), self.services())
        self.assertEqual(6, len(self.nodes()))
        self.assertEqual({365.0}, self.left())

    def test_operations_renew_those_of_all_nodes(self) -> None:
        """And log in to the workers whose certificate ends."""
        def heal() -> None:
            target = self.machine(MASTERS[0]).node
            self.heal_start(self.request(target.vnfc_id), self.services())
            self.replaced(target)
            self.heal_end(self.request(target.vnfc_id), self.services())

        def scale_in_worker() -> None:
            request = self.request(*self.ids(WORKERS[0]))
            scale_in.scale_in(request, self.services(), self.vims)
            self.world.machines.pop(self.machine(WORKERS[0]).node.server_id)

        for operation in (self.scale_out, heal, scale_in_worker):
            self.age(89.0)
            operation()
            self.assertEqual({365.0}, self.left(), operation)

    def test_an_upgrade(self) -> None:
        self.age(89.0)
        modify.modify(self.request(), self.services(), self.vims, {"kubernetes_version": "1.20.2"})
        self.assertEqual({365.0}, self.left())

    def test_what_lasts_costs_no_login(self) -> None:
        self.age(91.0)
        asked: list[str] = []

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            if session.machine.address in WORKERS:
                asked.append(named(argv)[0])

        self.scale_out(self.services(note))
        self.assertEqual([], asked)

    def test_on_request(self) -> None:
        """Expired certificates, too; and nothing twice."""
        for days in (350.0, -1.0):
            self.age(days)
            self.renew()
            self.assertEqual({365.0}, self.left())
        serials = [machine.certificates[SERVING] for machine in self.nodes()]
        self.renew()
        self.assertEqual(serials, [machine.certificates[SERVING] for machine in self.nodes()])

    def test_kubelets_that_do_not_start_either(self) -> None:
        self.age(-30.0)
        self.off_for_more_than_a_year()
        self.renew()
        self.assert_renewed()
        self.assertEqual({365.0}, self.left())
        self.assertTrue(all(machine.kubelet_runs for machine in self.nodes()))

    def test_a_worker_that_does_not_answer_holds_nothing_up(self) -> None:
        self.age(9.0)
        self.deaf.add(WORKERS[0])
        self.scale_out()
        left = [m.address for m in self.nodes() if m.certificates[SERVING][0] == 9.0]
        self.assertEqual([WORKERS[0]], left)

    def test_a_leader_that_cannot_sign(self) -> None:
        self.age(9.0)

        def refuse(session: SimulatedSession, argv: Sequence[str]) -> None:
            if named(argv)[:2] == ("kubelet-serving", "issue"):
                raise CommandFailed("kubelet-serving", 1, "Can't open ca.key")

        words = "issues no serving certificate for kubelet: .*ca.key.* its owner has to issue it"
        with self.assertRaisesRegex(MgmtDriverError, words):
            self.renew(self.services(refuse))

    def test_a_cluster_of_earlier_drivers_stays_as_it_is(self) -> None:
        self.build()
        self.renew()
        self.assertFalse(any(SERVING in machine.certificates for machine in self.nodes()))
        self.scale_out()
        new = [machine for machine in self.nodes() if SERVING in machine.certificates]
        self.assertEqual(["10.10.0.20"], [machine.address for machine in new])

    def test_a_heal_of_the_whole(self) -> None:
        self.age(-1.0)
        self.replace_all()
        self.heal_end(self.request(), self.services())
        self.assertEqual({365.0}, self.left())


class RenewalFaultsTest(FaultsTestCase, AgingClusterTest):
    """Every remote command fails once; trying again ends right."""

    def test_on_request(self) -> None:
        def story(number: int, fault: str) -> bool:
            struck = self.cured(self.renew, number, fault)
            self.assert_renewed()
            self.assert_whole(3, 2)
            return struck

        self.assertGreater(self.all_faults(story), 100)

    def test_after_a_year(self) -> None:
        def story(number: int, fault: str) -> bool:
            self.off_for_more_than_a_year()
            struck = self.cured(self.renew, number, fault)
            self.renew()  # for a worker that did not answer
            self.assert_renewed()
            nodes = [m for m in self.world.machines.values() if m.certificates]
            self.assertEqual([True] * 5, [m.kubelet_runs for m in nodes])
            return struck

        self.assertGreater(self.all_faults(story), 100)

    def test_by_the_way(self) -> None:
        """What did not answer during one operation is left to the next."""

        def without(address: str) -> Callable[[Services], None]:
            request = self.request(*self.ids(address))
            return lambda services: scale_in.scale_in(request, services, self.vims)

        def story(number: int, fault: str) -> bool:
            struck = self.cured(without(WORKERS[0]), number, fault)
            self.assertEqual(4, len(self.world.nodes))
            without(WORKERS[1])(self.services())
            self.assert_renewed()
            return struck

        self.assertGreater(self.all_faults(story), 150)


class StateTest(unittest.TestCase):
    def state(self, text: str = "", **days: float) -> NodeState:
        """The state of a node whose certificates have so many days left, each by its name."""
        host, session = fake_host()
        paths = {name: path for path, name in CERTIFICATES.items()}
        for name, left in days.items():
            text += f"{paths[name.replace('_', '-')]}\n{lasting(left, 1)}"
        session.expect("sudo", "show-certificates", PENDING, *CERTIFICATES, stdout=text)
        return certificates.read(host)

    def test_what_is_due(self) -> None:
        state = self.state(apiserver=90.5, front_proxy_client=89.5, ca=1.0, kubelet=1.0)
        self.assertEqual(["front-proxy-client"], [c.name for c in state.due(0.0, 90.0)])
        self.assertEqual([90, 89], [c.days_left(0.0) for c in state.certificates.values()][:2])
        self.assertEqual(-1, state.certificates["ca"].days_left(86400.0 * 1.5))

    def test_what_nobody_renews(self) -> None:
        state = self.state(apiserver=9.0, ca=364.0, etcd_ca=366.0, kubelet=29.0)
        self.assertEqual(["ca expires in 364 days"], state.warnings(0.0))

    def test_what_kubelet_has_not_renewed(self) -> None:
        for left, is_due in ((29.0, True), (31.0, False), (-1.0, True)):
            state = self.state(apiserver=365.0, kubelet=left)
            self.assertEqual(is_due, state.kubelet_due(0.0, 90.0) != [], left)
            self.assertEqual(is_due, state.needs_renewal(0.0, 90.0), left)

    def test_a_serving_certificate_counts_if_the_cluster_signed_it(self) -> None:
        """A kubelet of earlier drivers has signed its own."""
        for left, is_due in ((89.0, True), (91.0, False), (-1.0, True)):
            state = self.state(ca=3650.0, kubelet=365.0, kubelet_serving=left)
            due = [certificate.name for certificate in state.kubelet_due(0.0, 90.0)]
            self.assertEqual([SERVING] if is_due else [], due)
            self.assertEqual(is_due, state.needs_renewal(0.0, 90.0), left)
        own = signed("node").certificate.decode()
        path = next(path for path, name in CERTIFICATES.items() if name == SERVING)
        state = self.state(f"{path}\n{own}", ca=3650.0, kubelet=365.0)
        self.assertEqual(["ca", "kubelet"], sorted(state.certificates))
        self.assertNotIn(SERVING, self.state(kubelet_serving=1.0).certificates)

    def test_a_renewal_that_was_broken_off(self) -> None:
        self.assertFalse(self.state(apiserver=365.0).needs_renewal(0.0, 90.0))
        self.assertTrue(self.state(f"{PENDING}\n", apiserver=365.0).needs_renewal(0.0, 90.0))

    def test_every_name_is_of_a_kind(self) -> None:
        names = [*RENEWED, KUBELET, SERVING, *AUTHORITIES]
        self.assertEqual([*CERTIFICATES.values()], names)


class ScriptTest(unittest.TestCase):
    """Scripts of the drivers, run for real."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def run_script(self, name: str, *words: str) -> str:
        (path,) = Path(certificates.__file__).parents[1].glob(f"*/{name}.sh")
        text = path.read_text()
        done = subprocess.run(
            ["bash", "-c", text, name, *words], check=True, capture_output=True, timeout=60,
            env={"PATH": f"{self.root}:{os.environ['PATH']}"},
        )
        self.assertEqual(b"", done.stderr)
        return done.stdout.decode()


class KubeletCertificateTest(ScriptTest):
    def run_script(self, name: str, *words: str, **given: Any) -> str:
        """Run a script of the kubelet module, with programs that the test's folder has."""
        text = Path(kubelet.__file__).with_name(f"{name}.sh").read_text()
        done = subprocess.run(
            ["bash", "-c", text, name, *words], check=True, capture_output=True, timeout=60,
            env={"PATH": f"{self.root}:{os.environ['PATH']}"}, **given,
        )
        return done.stdout.decode()

    def program(self, name: str, text: str) -> None:
        (self.root / name).write_text(f"#!/bin/sh\n{text}\n")
        (self.root / name).chmod(0o755)

    def test_issued(self) -> None:
        made = signed("system:node:x")
        lines = "".join(
            f"    client-{kind}-data: {base64.b64encode(text).decode()}\n"
            for kind, text in (("certificate", made.certificate), ("key", made.key))
        )
        self.program("kubeadm", f"""echo '[kubeconfig] Writing'
            [ "$*" = "init phase kubeconfig kubelet --config /dev/stdin --kubeconfig-dir $8" ]
            [ "$(cat)" = given ] || exit 3
            printf 'users:\\n- user:\\n{lines}' >"$8/kubelet.conf"
            echo "$8" >{self.root}/folder""")
        shown = self.run_script("issue-kubelet-certificate", input=b"given")
        self.assertEqual((made.certificate + made.key).decode(), shown)
        self.assertFalse(Path((self.root / "folder").read_text().strip()).exists())
        self.program("kubeadm", "exit 1")
        with self.assertRaises(subprocess.CalledProcessError):
            self.run_script("issue-kubelet-certificate", input=b"given")

    def install(self, conf: Path, given: bytes) -> None:
        self.run_script("install-kubelet-certificate", str(self.root), str(conf), input=given)

    def test_installed(self) -> None:
        self.program("systemctl", f"echo $* >>{self.root}/restarted")
        conf, current = self.root / "kubelet.conf", self.root / "kubelet-client-current.pem"
        path = f"client-certificate: {current}\n    client-key: {current}\n"
        for before in ("client-certificate-data: eHh4\n    client-key-data: eXl5\n", path, path):
            conf.write_text(f"    {before}")
            for pem in (b"certificate and key\n", b"newer\n"):
                self.install(conf, pem + b"---\n")
                for cut in (b"", b"certificate\n", b"certificate\n--"):  # by a broken connection
                    with self.assertRaises(subprocess.CalledProcessError) as caught:
                        self.install(conf, cut)
                    self.assertIn(b"the standard input ended early", caught.exception.stderr)
                self.assertTrue(current.is_symlink())
                self.assertEqual(pem, current.read_bytes())
                self.assertEqual(0o600, current.stat().st_mode & 0o777)
            self.assertEqual(f"    {path}", conf.read_text())
        self.assertEqual("restart kubelet\n" * 6, (self.root / "restarted").read_text())


class ShowCertificatesTest(ScriptTest):
    def show(self, *names: str) -> str:
        shown = self.run_script("show-certificates", *(f"{self.root}/{name}" for name in names))
        return shown.replace(f"{self.root}/", "")

    def test_certificates_without_their_keys(self) -> None:
        made = signed("apiserver")
        pem = made.certificate.decode()
        lines = [
            f"    client-{kind}-data: {base64.b64encode(text).decode()}\n"
            for kind, text in (("certificate", made.certificate), ("key", made.key))
        ]
        (self.root / "admin.conf").write_text(f"users:\n- user:\n{''.join(lines)}")
        (self.root / "kubelet.pem").write_bytes(made.key + made.certificate)
        shown = self.show("admin.conf", "kubelet.pem", "missing.crt")
        self.assertEqual(f"admin.conf\n{pem}kubelet.pem\n{pem}", shown)

    def test_files_without_a_certificate(self) -> None:
        (self.root / "super-admin.conf").write_text("users: [{user: {token: planted}}]")
        (self.root / "ca.crt").touch()
        shown = self.show("super-admin.conf", "ca.crt")
        self.assertEqual("super-admin.conf\nca.crt\n", shown)


class ProgramsTest(ScriptTest):
    """With runtimes that have containers of the scheduler, and none of the apiserver."""

    def programs(self, verb: str, runtime: str) -> tuple[str, str]:
        """Runs the script: its output, and the containers that it ended."""
        ended = self.root / "ended"
        ended.unlink(missing_ok=True)
        for name, text in (
            ("docker", f'''case "$*" in
                "kill --signal TERM "*) echo "$4" >>{ended} ;;
                *namespace=kube-system*=kube-scheduler-master-1)
                    # The first look after it was told to end still finds it.
                    grep -qx looked {ended} 2>/dev/null || echo s2
                    if grep -qx s2 {ended} 2>/dev/null; then echo looked >>{ended}; fi ;;
                esac'''),
            ("systemctl", f'echo "$@" >>{ended}'),
            ("ctr", f'''case "$3 $4" in
                "tasks kill") echo "$7" >>{ended}; exit 1 ;;
                "tasks list") printf "TASK PID STATUS\ns1 7 STOPPED\no 9 RUNNING\n"
                    grep -qx looked {ended} 2>/dev/null || echo s2 8 RUNNING
                    if grep -qx s2 {ended} 2>/dev/null; then echo looked >>{ended}; fi ;;
                *) case $6 in *=kube-scheduler-master-1,*=kube-system) printf "s1\ns2\n" ;; esac ;;
                esac'''),
        ):
            (self.root / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.root / name).chmod(0o755)
        names = ("kube-apiserver", "kube-scheduler")
        shown = self.run_script("static-pods", verb, runtime, "master-1", *names)
        return shown, ended.read_text() if ended.exists() else ""

    def test_what_runs(self) -> None:
        for runtime in ("docker", "containerd"):
            with self.subTest(runtime):
                self.assertEqual(("kube-scheduler s2\n", ""), self.programs("show", runtime))
                shown, done = self.programs("end", runtime)
                self.assertEqual("kube-scheduler s2\n", shown)
                steps = ["stop kubelet", "s2", "looked", "looked", "start kubelet"]
                self.assertEqual(steps, done.splitlines())

    def test_a_runtime_that_does_not_answer(self) -> None:
        """No program is taken for one that does not run, and kubelet starts again."""
        asked = self.root / "asked"
        for name in ("docker", "ctr", "systemctl"):
            text = f'echo "$@" >>{asked}' if name == "systemctl" else "exit 1"
            (self.root / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.root / name).chmod(0o755)
        for runtime in ("docker", "containerd"):
            with self.subTest(runtime):
                with self.assertRaises(subprocess.CalledProcessError):
                    self.run_script("static-pods", "end", runtime, "master-1", *PROGRAMS)
                self.assertEqual(["stop kubelet", "start kubelet"], asked.read_text().splitlines())
                asked.unlink()
