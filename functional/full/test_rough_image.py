"""The life of a cluster on an image as sites have it: German, changed by hand, not always idle."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from functional.cluster_scenario import MASTER, WORKER
from functional.kubernetes import KUBECTL
from functional.packages import user_data_templates
from functional.upgrade_scenario import BEFORE, NEWEST, UpgradeScenario
from mgmt_drivers.machine.files import STATE_FOLDER
from tools.client import kubernetes_source, wait
from tools.client.api import V2
from tools.client.config import CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step
from tools.client.machines import Remote

# Names in tools/devcloud/node/provision-rough.sh.
_RUNTIME = "accounting"
_LOG_OF_RUNTIME = "/var/log/accounting-runc.log"
_SOURCE = "/etc/apt/sources.list.d/site.sources"
# Files of the node from which the image was made.
_NODE_BEFORE = {f"{STATE_FOLDER}/member-of-before": "x", "/etc/kubernetes/pki/ca.crt": "x"}
_STANZA = """Types: deb
URIs: {url}
Suites: /
Signed-By: /etc/apt/keyrings/site.asc
"""


class RoughImage(UpgradeScenario):
    """Each machine reboots once before it may be used, and has newer packages than its cluster."""

    api = V2()
    image = CONFIG.rough_image

    def test_life_on_a_rough_image(self) -> None:
        if not self.image:
            self.skipTest("FUNCTIONAL_ROUGH_IMAGE is not set")
        vnf = self.instantiate_balanced_cluster()
        self.check_versions(BEFORE)
        self.check_machines(vnf)
        self.scale_out_and_in(vnf)
        self.heal_workers(vnf, 1)
        self.heal_virtual_ip_holder(vnf)
        self.check_versions(BEFORE)
        self.upgrade(vnf, self.modify, workers=3)
        self.check_machines(vnf)
        self.check_reboot(vnf)
        self.check_hardening(vnf)
        self.check_terminate(vnf)

    def onboard_package(
        self, files: Mapping[str, Path] | None = None, overlays: Sequence[str] = ()
    ) -> Package:
        """Machines have the repository among their package sources, with a key that is gone.

        They have files of a node of another cluster, too, which kubeadm would refuse.
        """
        content = _STANZA.format(url=f"{kubernetes_source.mirror_url()}/apt")
        written = {_SOURCE: content, **_NODE_BEFORE}
        listed = [{"path": path, "content": text} for path, text in written.items()]
        user_data = {"write_files": listed}
        templates = user_data_templates(self.flavour, f"#cloud-config\n{json.dumps(user_data)}")
        return super().onboard_package({**(files or {}), **templates}, overlays)

    def all_machines(self, vnf: Vnf) -> list[Remote]:
        return [machine for found in self.machines(vnf).values() for machine in found]

    def check_machines(self, vnf: Vnf) -> None:
        """The image is as rough as it says, and what others wrote is still there."""
        for machine in self.all_machines(vnf):
            self.check_machine(machine)
        master = self.machines(vnf)[MASTER][0]
        runtime_class = {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": _RUNTIME},
            "handler": _RUNTIME,
        }
        master.run(f"echo '{json.dumps(runtime_class)}' | {KUBECTL} apply --filename -")
        image, nodes = f"{self.registry}/busybox:1", len(self.all_machines(vnf))
        with (
            step(f"run pods by the runtime {_RUNTIME}"),
            self.cluster.daemon_set(_RUNTIME, image, _RUNTIME),
        ):
            ready = self.cluster.ready_pods_by_daemon_set
            wait.until(ready, lambda seen: seen.get(_RUNTIME) == nodes, 120, "pods on every node")
        for machine in self.all_machines(vnf):
            self.assertIn(" create ", machine.run(f"cat {_LOG_OF_RUNTIME}"))

    def check_machine(self, machine: Remote) -> None:
        said = machine.run("sudo apt-get install no-such-package 2>&1", check=False)
        boots = machine.run("sudo grep --count \"running 'init-local'\" /var/log/cloud-init.log")
        sources = machine.run(f"cat {_SOURCE}")
        log(f"{machine.address}: {said.strip().splitlines()[-1]}; {boots.strip()} boots")
        self.assertLess(1, int(boots))
        self.assertIn(" nicht ", said)  # in German: no such package, or the lock
        self.assertNotIn(f"/{BEFORE}/", sources)
        self.assertEqual("1\n", machine.run("cat /proc/sys/net/ipv4/ip_forward"))
        self.assertIn("#  /swapfile none swap", machine.run("cat /etc/fstab"))
        config = machine.run("sudo containerd config dump")
        self.assertIn("/usr/local/sbin/accounting-runc", config)
        markers = machine.run(f"sudo ls {STATE_FOLDER}").split()
        self.assertEqual(1, len([name for name in markers if name.startswith("member")]))

    def check_reboot(self, vnf: Vnf) -> None:
        """Settings of the drivers hold from the next boot on."""
        _, worker = self.vnfcs(vnf, WORKER)[0]
        name = self.node_name(worker)
        before = self.ready_at(name)
        with step(f"reboot {worker.address}"):
            worker.run("sudo systemctl reboot", check=False)
            worker.await_shutdown()  # a container's boot has the id of the host's
            worker.await_login()
            # The cluster holds a node that is gone to be ready for 40 seconds.
            wait.until(
                lambda: self.ready_at(name),
                lambda seen: seen not in (None, before), 300, f"kubelet of {name}",
            )
        self.assertEqual("1\n", worker.run("cat /proc/sys/net/ipv4/ip_forward"))
        self.check_versions(NEWEST)
        self.check_balanced_cluster(vnf, workers=3)
        with self.cluster.web_server("web", f"{self.registry}/busybox:1", 3) as port:
            self.await_answers(f"http://{worker.address}:{port}/", 3)

    def ready_at(self, name: str) -> Any:
        """The time at which kubelet last reported its node as ready; None if it is not."""
        conditions = self.cluster.core.read_node(name).status.conditions
        ready = (c for c in conditions if (c.type, c.status) == ("Ready", "True"))
        return next((condition.last_heartbeat_time for condition in ready), None)
