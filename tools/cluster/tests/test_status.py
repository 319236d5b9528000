"""The status of a simulated cluster."""

import json
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO

from mgmt_drivers.cluster.certificates.certificates import PENDING
from mgmt_drivers.errors import WrongHostKey
from mgmt_drivers.inventory import Placement
from mgmt_drivers.machine.host import Host
from mgmt_drivers.ssh.hostkeys import HostKeys, KnownKey
from mgmt_drivers.testing.simulated_cloud import MASTERS, WORKERS, SimulatedClusterTest, no_fault
from mgmt_drivers.testing.simulation import SimulatedSession
from tools.cluster.login import known_keys, pinned
from tools.cluster.status import Status, look_at
from tools.k8s_vnf.app import parser

_ID = "3f1c9a2b-7d40-4e61-8a35-c72d50b63e91"
_DAY = 86400.0


class StatusTest(SimulatedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build()

    def look(self, now: float = 0.0) -> Status:
        machines = [self.machine(address) for address in MASTERS]
        vnfcs = {m.name: m.node.vnfc_id for m in self.world.machines.values()}
        status = Status("k8s", vnfcs)
        hosts = [
            Host(m.node, SimulatedSession(self.world, m, no_fault, no_fault)) for m in machines
        ]
        look_at(status, hosts, now)
        return status

    def test_a_cluster_that_is_well(self) -> None:
        status = self.look()
        self.assertEqual([], status.faults)
        text = "\n".join(status.lines)
        name, vnfc = self.machine(WORKERS[0]).name, self.machine(WORKERS[0]).node.vnfc_id
        self.assertIn(f"{name}  v1.20.2  ready  VNFC {vnfc}", text)
        shown = json.loads(json.dumps(status.as_json()))
        self.assertIn({
            "name": name, "release": "v1.20.2", "state": "ready", "cordoned": False, "vnfc": vnfc
        }, shown["nodes"])
        self.assertEqual([365] * 3, [days["apiserver"] for days in shown["certificates"].values()])
        self.assertEqual(([], []), (shown["faults"], shown["heal"]))
        self.assertEqual(3, text.count("healthy"))
        self.assertEqual(1, text.count("leader"))
        for address in MASTERS:
            self.assertIn(f"certificates of {address}:\n  apiserver  365\n", text)
        self.assertEqual(3, text.count("  front-proxy-ca  3650"))

    def test_control_plane_nodes_that_share_a_compute_host(self) -> None:
        for machine, host in zip(map(self.machine, MASTERS), ("one", "two", "one"), strict=True):
            machine.node = replace(machine.node, placement=Placement("", "nova", host))
        names = ", ".join(self.machine(MASTERS[number]).name for number in (0, 2))
        status = self.look()
        self.assertIn(f"WARNING: control-plane nodes share a compute host: {names}. ", str(status))
        self.assertEqual([], status.faults)

    def test_databases_and_alarms_of_etcd(self) -> None:
        databases = self.world.databases
        databases.sizes = {self.machine(MASTERS[1]).name: 600 << 20}
        lines = [line for line in self.look().lines if " MiB" in line]
        self.assertIn("healthy, leader, 8 of 2048 MiB (8 MiB in use)", lines[0])
        self.assertIn("healthy, 600 of 2048 MiB (8 MiB in use)", lines[1])
        databases.alarms.append((1, "NOSPACE"))
        status = self.look()
        self.assertEqual(lines, [line for line in status.lines if " MiB" in line])
        (fault,) = status.faults
        self.assertIn(f"alarm NOSPACE of {self.machine(MASTERS[0]).name} ", fault)
        self.assertIn("`defragment_etcd`", fault)

    def test_certificates_that_expire(self) -> None:
        self.assertEqual([], self.look(now=274.9 * _DAY).faults)
        status = self.look(now=275.1 * _DAY)
        self.assertEqual(3, len(status.faults))
        words = "apiserver expires in 89 days, and 10 more within 90 days. Renew the certificates"
        self.assertEqual(f"{MASTERS[0]}: {words}", status.faults[0])
        # The first line is of what kubeadm renews, the others of what nobody does.
        ended = [fault for fault in self.look(now=366 * _DAY).faults if "kubelet has" in fault]
        self.assertEqual([f"{address}: kubelet has expired" for address in MASTERS], ended)

    def test_a_renewal_that_was_broken_off(self) -> None:
        self.machine(MASTERS[1]).files[PENDING] = (b"", "644")
        words = "a renewal of certificates was interrupted. Renew the certificates"
        self.assertEqual([f"{MASTERS[1]}: {words}"], self.look().faults)

    def test_nodes_and_members_that_are_not_well(self) -> None:
        self.machine(WORKERS[0]).alive = False
        self.world.unhealthy.add(self.machine(MASTERS[0]).name)
        self.world.members.pop()
        faults = "\n".join(self.look().faults)
        self.assertIn(f"node {self.machine(WORKERS[0]).name} is not ready: kubelet", faults)
        self.assertIn(f"{MASTERS[0]}: the apiserver is not ready: etcd failed", faults)
        self.assertIn("etcd has 2 of 3 members", faults)

    def test_the_command_that_heals_what_is_broken(self) -> None:
        broken = [self.machine(address) for address in (MASTERS[2], WORKERS[0])]
        for machine in broken:
            machine.alive = False
        status = self.look()
        heals = [f"k8s-vnf heal k8s {machine.name}" for machine in broken]
        self.assertEqual(heals, status.as_json()["heal"])
        self.assertEqual([f"$ {heal}" for heal in heals], [*status.lines][-2:])
        # A node that another program has joined has no VNFC.
        status = Status("k8s", {})
        status.add_broken("worker-0", "a fault")
        self.assertEqual((["a fault"], []), (status.faults, status.heals))

    def test_nobody_is_ready(self) -> None:
        self.world.unhealthy = {self.machine(address).name for address in MASTERS}
        status = self.look()
        self.assertEqual(3, len(status.faults))
        self.assertIn("members of etcd:", status.lines)

    def test_a_machine_that_dies(self) -> None:
        self.machine(MASTERS[2]).alive = False
        faults = "\n".join(self.look().faults)
        self.assertIn(f"{MASTERS[2]}: [KV-SSH] {MASTERS[2]}: connection lost", faults)
        self.assertIn("is not a healthy voter", faults)

    def test_host_keys_that_the_drivers_have_seen(self) -> None:
        for name in ("mgmt_driver_ssh_host_keys", "mgmtDriverSshHostKeys"):
            self.assertEqual({"a": "b"}, pinned({"other": "x", name: '{"a": "b"}'}))
        self.assertEqual({}, pinned({"other": "x"}))

    def test_a_machine_without_a_pinned_host_key(self) -> None:
        keys = HostKeys({"known": "ssh-ed25519 AAAA"})
        print_ = f"SHA256:{'A' * 43}"
        for words, known in (
            (["--host-key", print_], (KnownKey(print_),)), (["--trust-on-first-use"], ()),
        ):
            options = parser("status").parse_args([_ID, *words])
            self.assertEqual((), known_keys(keys, "known", options))
            self.assertEqual(known, known_keys(keys, "new", options))
        options = parser("status").parse_args([_ID])
        self.assertEqual((), known_keys(keys, "known", options))
        with self.assertRaisesRegex(WrongHostKey, "server new: name .* with --host-key"):
            known_keys(keys, "new", options)
        for words in (["--host-key", "aa:bb"], ["--host-key", print_, "--trust-on-first-use"]):
            with redirect_stderr(StringIO()), self.assertRaises(SystemExit):
                parser("status").parse_args([_ID, *words])
