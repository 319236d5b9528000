"""Troubles of a control plane: a full etcd, half a join, machines that die with much on them."""

import json
from typing import Any

from kubernetes.client.exceptions import ApiException

from functional import faults, kubernetes
from functional.cluster_scenario import MASTER, WORKER
from functional.masters_scenario import MastersScenario
from functional.requests import REQUESTS
from mgmt_drivers.cluster.modification import NAME
from mgmt_drivers.machine.files import STATE_FOLDER
from tools.client import kubernetes_source, stacks, wait
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.poll import poll_api

_QUOTA = 40 << 20  # bytes; the database of a new cluster takes a tenth of it
_MANIFEST = "/etc/kubernetes/manifests/etcd.yaml"
_CURE = "defragment_etcd"
# On a new control-plane node.
BEFORE_JOIN = ("join nodes", "before", "kubeadm join")
# kubelet has no image of etcd, and cannot pull it: the new member of etcd stays a learner.
_NO_ETCD = (
    "ctr --namespace k8s.io images ls --quiet | grep /etcd: | "
    "xargs ctr --namespace k8s.io images rm; ip route add unreachable {}"
)


class FullEtcd(MastersScenario):
    """Operations name the alarm and its cure, and change nothing; after the cure they succeed."""

    image = CONFIG.prepared_image
    options = {"etcd_backup": {"folder": "/var/backups/etcd", "interval": "1h"}}

    def test_full_etcd(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        self.set_quota(vnf)
        fillers = self.fill()
        self.check_operations_name_the_cure(vnf)
        self.check_backup(vnf)
        self.cure(vnf, fillers, json.loads((REQUESTS / "kubernetes/defragment.json").read_text()))
        wanted = {"kubernetes_version": kubernetes_source.series().name}
        self.cure(vnf, self.fill(), {"metadata": {NAME: json.dumps(wanted)}})
        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.heal(vnf, [self.vnfcs(vnf, vdu)[0][0] for vdu in (MASTER, WORKER)])
        self.check_balanced_cluster(vnf, workers=3)
        self.assert_completed(vnf.scale("SCALE_IN", "worker_instance", 1))
        self.check_balanced_cluster(vnf, workers=2)

    def check_backup(self, vnf: Vnf) -> None:
        """A backup is saved, and its log has the alarm."""
        master = self.machines(vnf)[MASTER][0]
        said = master.run(f"sudo bash {STATE_FOLDER}/etcd-backup.sh save now 2>&1")
        log(said)
        self.assertRegex(said, "a backup is saved all the same: .*NOSPACE")

    def cure(self, vnf: Vnf, fillers: list[str], request: dict[str, Any]) -> None:
        """Delete what fills etcd; the request, also an upgrade, frees the space and ends the alarm.

        kubelets could not tell that their nodes live, so that the nodes may be lost for a moment.
        """
        with step(f"delete {len(fillers)} ConfigMaps"):
            for name in fillers:
                kubernetes.delete(self.cluster.core.delete_namespaced_config_map, name)
        self.assert_completed(vnf.modify(request))
        wait.until(lambda: len(self.cluster.ready_nodes()), lambda n: n == 5, 180, "all nodes")
        self.check_status(vnf, 0, " MiB in use)")

    def set_quota(self, vnf: Vnf) -> None:
        option = f"--quota-backend-bytes={_QUOTA}"
        for name, master in self.masters(vnf).items():
            with step(f"let etcd of {name} have {_QUOTA >> 20} MiB"):
                master.run(f"sudo sed -i 's/^    - etcd$/&\\n    - {option}/' {_MANIFEST}")
                ask = f"pgrep --full -- '^etcd .*{option}'"
                wait.until(lambda: master.run(ask, check=False), bool, 120, "etcd's restart")  # noqa: B023
                wait.until(lambda: self.members(master, name), bool, 120, "etcd")  # noqa: B023

    def members(self, master: Remote, name: str) -> set[str]:
        """The members, all of them healthy; empty while one is not."""
        try:
            return kubernetes.healthy_etcd_members(master, name)
        except Exception as error:
            log(f"etcd: {str(error).strip().splitlines()[-1]}")
            return set()

    def fill(self) -> list[str]:
        """Create ConfigMaps until etcd has no space; returns their names."""
        made: list[str] = []
        with step("fill etcd"):
            while len(made) < 100:
                name = f"filler{len(made)}"
                body = {"metadata": {"name": name}, "data": {"text": "x" * 900_000}}
                try:
                    kubernetes.create(self.cluster.core.create_namespaced_config_map, body)
                except ApiException as error:
                    log(f"after {len(made)} ConfigMaps: {error.body}")
                    self.assertIn("database space exceeded", str(error.body))
                    return made
                made.append(name)
        raise AssertionError(f"{len(made)} ConfigMaps fit into {_QUOTA >> 20} MiB")

    def check_operations_name_the_cure(self, vnf: Vnf) -> None:
        before = self.servers(vnf)
        shown = self.check_status(vnf, 1, "NOSPACE")
        self.assertIn(_CURE, shown)
        for vdu in (WORKER, MASTER):
            failed = vnf.heal({"vnfcInstanceId": [self.vnfcs(vnf, vdu)[0][0]]})
            self.assert_failed(failed, _CURE)
            self.tacker.fail_vnf_instance(failed["id"])
            self.assertEqual(before, self.servers(vnf))
        failed = vnf.scale("SCALE_OUT", "worker_instance", 1)
        self.assert_failed(failed, _CURE)
        self.assertEqual("ROLLED_BACK", vnf.rollback(failed)["operationState"])
        self.assertEqual(before, self.servers(vnf))

    def servers(self, vnf: Vnf) -> set[str]:
        return {server.id for server in stacks.servers(self.cloud, vnf.id)}


class ControlPlaneInTrouble(MastersScenario):
    """Nodes that join by half; the loss of the machine with everything; of two of five."""

    image = CONFIG.prepared_image

    def test_control_plane_in_trouble(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        # First: heals that failed after Heat's part do not keep later ones from replacing machines.
        self.heal_half_joined(vnf)
        self.heal_machine_with_everything(vnf)
        self.heal_leader_without_kubelet(vnf)
        self.heal_two_of_five(vnf)
        self.check_terminate(vnf)

    def heal_half_joined(self, vnf: Vnf) -> None:
        """The next heal removes a member that stays a learner; a retry joins a repaired machine."""
        target, _ = self.vnfcs(vnf, MASTER)[-1]
        registry = self.registry.partition(":")[0]
        failed, _ = self.fail_join(vnf, target, _NO_ETCD.format(registry), "etcd")
        self.tacker.fail_vnf_instance(failed["id"])
        self.heal(vnf, [self.vnfcs(vnf, WORKER)[0][0]])
        failed, new = self.fail_join(vnf, target, "systemctl mask --now kubelet", "kubelet")
        new.run("sudo systemctl unmask kubelet")
        self.assert_completed(vnf.retry(failed))
        self.check_balanced_cluster(vnf, workers=2)

    def fail_join(
        self, vnf: Vnf, target: str, commands: str, word: str
    ) -> tuple[dict[str, Any], Remote]:
        """Let the heal of a master fail in the join; returns operation and machine."""
        failed, new = self.fail_after_replacement(vnf, target)
        faults.prepare(new)
        with (
            poll_api(self.vim_before.auth_url) as seen,
            faults.injected([new], *BEFORE_JOIN[1:], commands),
        ):
            failed = vnf.retry(failed)
        self.assert_failed(failed, BEFORE_JOIN[0], new.address, word)
        self.assertLess(seen.readiness.longest, self.longest_outage)
        self.check_writes()
        return failed, new

    def check_writes(self) -> None:
        name = "written"
        body: dict[str, Any] = {"metadata": {"name": name}}
        kubernetes.create(self.cluster.core.create_namespaced_config_map, body)
        kubernetes.delete(self.cluster.core.delete_namespaced_config_map, name)

    def heal_machine_with_everything(self, vnf: Vnf) -> None:
        """The first node, which leads etcd and holds the virtual IP, dies."""
        machines = self.masters(vnf)
        first, *others = machines
        kubernetes.move_etcd_leader(machines, first)
        self.move_virtual_ip({name: machines[name] for name in others}, {first: machines[first]})
        vnfc, machine = self.vnfcs(vnf, MASTER)[0]
        log(f"{first} leads etcd and holds {self.virtual_ip()}")
        with poll_api(self.vim_before.auth_url):
            self.lose(machine)
            self.heal(vnf, [vnfc])
        self.check_balanced_cluster(vnf, workers=2)

    def heal_leader_without_kubelet(self, vnf: Vnf) -> None:
        """The machine lives, and so do its static pods."""
        machines = self.masters(vnf)
        name, machine = next(iter(machines.items()))
        kubernetes.move_etcd_leader(machines, name)
        with step(f"stop kubelet on {name}, which leads etcd"):
            machine.run("sudo systemctl stop kubelet")
            wait.until(lambda: name in self.cluster.ready_nodes(), lambda r: not r, 120, "the loss")
        self.heal(vnf, [self.vnfcs(vnf, MASTER)[0][0]])
        self.check_balanced_cluster(vnf, workers=2)

    def heal_two_of_five(self, vnf: Vnf) -> None:
        """Two control-plane nodes of five are lost: one request heals both."""
        self.scale_masters(vnf, "SCALE_OUT")
        lost = self.vnfcs(vnf, MASTER)[1:3]
        for _, machine in lost:
            self.lose(machine)
        with poll_api(self.vim_before.auth_url):
            self.heal(vnf, [vnfc for vnfc, _ in lost])
        self.check_balanced_cluster(vnf, workers=2, masters=5)
