"""A cluster that heals and scales itself: alerts and notifications come, and no request."""

import random
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from functional import kubernetes, shared, shell
from functional.masters_scenario import MastersScenario
from functional.server_notifier import server_notifier
from tools.client import monitoring, node_faults, wait
from tools.client.api import V2
from tools.client.config import CHECKOUT, CONFIG
from tools.client.kept_objects import KeptObjects
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.monitoring import Prometheus
from tools.client.node_faults import MASTER, WORKER, Fault, Machine, Site
from tools.client.poll import poll_api
from tools.client.self_heal import Times, Watch, error_of

_LIMIT = 900  # seconds for a heal or a scaling from its cause to its end
_CALM = 0.7  # the share of the CPUs that is busy at most before a load
_QUIET = 120  # seconds after a reboot in which a heal would have begun
_NODES = {MASTER: 3, WORKER: 2}
_REBOOT = Fault("reboot of a worker", node_faults.anyone(WORKER), node_faults.rebooted)
_LEADER = Fault("kill of etcd's leader", node_faults.etcd_leader, node_faults.power_cut)
_MONITORING = CHECKOUT / "tools/monitoring"
_RAIL = 'guard rail "machine is well"'
# A busy loop for each CPU. Without a request for CPU a pod comes after all that does something.
_BURN = (
    "for cpu in $(busybox grep ^processor /proc/cpuinfo | busybox cut -d: -f2); do "
    "while :; do :; done & done; wait"
)
# Rules that an operator may change, and that the scenario changes for shorter waits. On the
# embedded cloud the machines share the CPUs: the limits depend on what else the CPUs do.
_RULES = {
    r"> 0\.8$": "> {busy:.2f}",
    r"< 0\.5$": "< {idle:.2f}",
    r"workers\[10m\]": "workers[1m]",
    r"for: (3|15)m": "for: 1m",
}


class MonitoredScenario(MastersScenario):
    """A cluster that the cloud's Prometheus watches."""

    api = V2()
    image = CONFIG.prepared_image
    options: Mapping[str, Any] = {"monitoring": {}}

    def setUp(self) -> None:
        super().setUp()
        if missing := monitoring.why_missing():
            self.skipTest(missing)
        self.folder, self.prometheus = Path(CONFIG.monitoring), Prometheus(CONFIG.prometheus)

    def switch(self, vnf: Vnf, **properties: bool) -> None:
        """Switch what Tacker may do of its own accord on or off."""
        self.assert_completed(vnf.modify({"vnfConfigurableProperties": properties}))


class Rules(MonitoredScenario):
    """Prometheus' own promtool computes when the alerts come, from series that are given."""

    def setUp(self) -> None:
        super().setUp()
        if not CONFIG.test_rules:
            self.skipTest("FUNCTIONAL_TEST_RULES is not set: nothing runs promtool")

    def test_rules(self) -> None:
        folder = Path(self.enter(tempfile.TemporaryDirectory(dir=self.folder)))
        folder.chmod(0o755)
        shutil.copy(_MONITORING / "files/rules/k8s_vnf.yml", folder)
        text = (_MONITORING / "tests/rules_test.yml").read_text()
        (folder / "test.yml").write_text(text.replace("../files/rules/", ""))
        told = shell.output(f"{CONFIG.test_rules} {folder.name}/test.yml")
        log(f"promtool: {told.strip()}")


class SelfHealing(MonitoredScenario):
    """Machines die, and are replaced; a reboot is not healed; a rail holds."""

    def setUp(self) -> None:
        super().setUp()
        self.skip_with_fewer_hosts(4)  # one for the successor of a master
        self.chance = random.Random(1)
        self.tacker_url = str(self.cloud.endpoint_for("nfv-orchestration"))
        self.notifier = self.enter(server_notifier(self.tacker_url))

    def request(self, *args: Any, **params: Any) -> dict[str, Any]:
        request = super().request(*args, **params)
        request["additionalParams"].update(self.notifier.params)
        return request

    def test_self_healing(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        self.site = Site(self.cloud, vnf)
        self.kept = KeptObjects(self.vim_before.auth_url, self.site.machines(MASTER)[0].remote)
        self.spread_masters(vnf)
        self.switch(vnf, isAutohealEnabled=True)
        monitoring.write_files(self.folder)
        with monitoring.kept_up_to_date(self.folder):
            self.await_calm(vnf)
            self.check_reboot(vnf)
            self.check_told_heal(vnf)
            self.check_heal(vnf, _LEADER)
            self.check_rail(vnf)
        self.kept.delete()
        self.check_terminate(vnf)
        self.assertEqual([], self.notifier.servers)

    def spread_masters(self, vnf: Vnf) -> None:
        """Heal masters until none shares a compute host: Nova may place two in parallel."""
        for _ in range(2):
            by_host = {self.site.host(machine): machine for machine in self.site.machines(MASTER)}
            alone = {machine.vnfc_id for machine in by_host.values()}
            shared = [m.vnfc_id for m in self.site.machines(MASTER) if m.vnfc_id not in alone]
            if shared:
                self.heal(vnf, shared[:1])
        self.check_masters_apart()

    def check_masters_apart(self) -> None:
        hosts = {self.site.host(machine) for machine in self.site.machines(MASTER)}
        self.assertEqual(_NODES[MASTER], len(hosts), f"hosts of the masters: {hosts}")

    def await_calm(self, vnf: Vnf) -> None:
        whole = sum(_NODES.values())
        nodes = wait.until(self.kept.nodes, lambda seen: len(seen) == whole, 60, "the nodes")
        self.prometheus.await_calm(vnf.id, nodes, 300)

    def check_reboot(self, vnf: Vnf) -> None:
        """A machine that comes back by itself is not replaced."""
        machines = _REBOOT.choose(self.site, self.chance)
        watch = Watch(vnf, self.prometheus)
        with _REBOOT.strike(self.site, machines):
            with step(f"see that nothing is healed for {_QUIET} s"):
                time.sleep(_QUIET)
            self.assertEqual([], watch.occurrences())
        self.await_calm(vnf)
        self.check_whole(vnf)

    @contextmanager
    def tell_death(self, site: Site, machines: Sequence[Machine]) -> Iterator[None]:
        """The notifier tells Tacker of the death of machines at once."""
        with node_faults.power_cut(site, machines):
            for machine in machines:
                self.notifier.tell_fault(machine.server_id)
            yield

    def check_told_heal(self, vnf: Vnf) -> None:
        """Tacker heals because of the notification, before there is an alert."""
        fault = Fault("kill of a worker, told", node_faults.anyone(WORKER), self.tell_death)
        times = self.check_heal(vnf, fault)
        self.assertTrue(times.detected is None or times.begun < times.detected, times)

    def check_heal(self, vnf: Vnf, fault: Fault) -> Times:
        """Tacker replaces the machine that the fault has struck, and no other one."""
        before, machines = self.server_ids(), fault.choose(self.site, self.chance)
        with self.kept.writing(), poll_api(self.vim_before.auth_url) as seen:
            watch = Watch(vnf, self.prometheus)
            with step(f"{fault.name}, healed by nobody"), fault.strike(self.site, machines):
                times = watch.await_heal(machines, _LIMIT)
        self.assertEqual({m.server_id for m in machines}, before - self.server_ids())
        log(f"{fault.name}: {times}; silence of the API {seen.readiness.longest:.1f} s")
        self.await_calm(vnf)
        self.check_whole(vnf)
        return times

    def check_whole(self, vnf: Vnf) -> None:
        self.assertEqual(set(), self.kept.lost())
        self.check_balanced_cluster(vnf, workers=2)
        self.check_masters_apart()
        self.assertEqual(sorted(self.server_ids()), self.notifier.servers)

    def server_ids(self) -> set[str]:
        return {machine.server_id for machine in self.site.machines()}

    def check_rail(self, vnf: Vnf) -> None:
        """The driver refuses the heal of a false alarm; the tool ends it, and Tacker can go on."""
        before, machine = self.server_ids(), self.site.machines(MASTER)[0]
        watch = Watch(vnf, self.prometheus)
        with step(f"a false alarm of {machine} is refused"):
            monitoring.send_alert(self.tacker_url, vnf.id, machine.vnfc_id)
            refused = watch.await_operation("HEAL", _LIMIT)
        self.assertIn(_RAIL, error_of(refused))
        log(f"{watch.times([refused])}; refused: {error_of(refused)}")
        wait.until(
            lambda: [occurrence["operationState"] for occurrence in watch.occurrences()],
            lambda seen: seen == ["FAILED"], 60, "end of the refused heal",
        )
        self.assertEqual(before, self.server_ids())
        self.check_whole(vnf)


class ScalingByLoad(MonitoredScenario):
    """Busy workers get another one, which goes when the work is done."""

    def test_scaling_by_load(self) -> None:
        self.registry = shared.private_registry()
        vnf = self.create_vnf(self.onboard_package())
        request = self.request("simple", self.registry, **self.options)
        self.assert_completed(vnf.instantiate(request))
        self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        monitoring.write_files(self.folder)
        with monitoring.kept_up_to_date(self.folder):
            limits = self.read_limits(vnf)
            self.start_burners()
            self.await_load(vnf, limits["busy"], 1)
            # Changed last: Alertmanager sends an alert again only after 10 minutes.
            self.switch(vnf, isAutoscaleEnabled=True)
            rules = self.folder / "rules/k8s_vnf.yml"
            rules.write_text(faster(rules.read_text(), limits))
            self.check_scale(vnf, "SCALE_OUT", workers=3)
            kubernetes.delete(self.cluster.apps.delete_namespaced_daemon_set, "burner")
            self.check_scale(vnf, "SCALE_IN", workers=2)
        self.check_terminate(vnf)

    def read_limits(self, vnf: Vnf) -> dict[str, float]:
        """Limits between two workers at work and three idle ones, of whom two would do."""
        calm = self.await_load(vnf, 0, _CALM)
        log(f"the workers are busy to {calm:.0%} without load")
        return {"busy": (1 + calm) / 2, "idle": 0.75 * (1 + calm)}

    def await_load(self, vnf: Vnf, least: float, most: float) -> float:
        """Wait for a load of the workers between two shares, and return it."""
        return wait.until(
            lambda: self.prometheus.busy_workers(vnf.id),
            lambda seen: least <= seen <= most, 300, f"a load of {least:.0%} to {most:.0%}",
        )

    def check_scale(self, vnf: Vnf, kind: str, workers: int) -> None:
        with step(f"{kind}, which nobody has asked for"):
            watch = Watch(vnf, self.prometheus, "auto_scale")
            scaled = watch.await_operation("SCALE", _LIMIT)
        self.assert_completed(scaled)
        self.assertEqual(kind, scaled["operationParams"]["type"])
        log(f"{kind}: {watch.times([scaled])}")
        self.assertEqual(workers, len(self.machines(vnf)[WORKER]))
        wait.until(
            lambda: len(self.cluster.ready_nodes()),
            lambda seen: seen == 1 + workers, 120, "the nodes",
        )

    def start_burners(self) -> None:
        """Keep all CPUs of the workers busy, of those that come, too."""
        body = kubernetes.deployment("burner", f"{self.registry}/busybox:1", 1, spread=False)
        del body["spec"]["replicas"]
        container = body["spec"]["template"]["spec"]["containers"][0]
        container["command"] = ["/bin/busybox", "sh", "-c", _BURN]
        create = self.cluster.apps.create_namespaced_daemon_set
        kubernetes.create(create, {**body, "kind": "DaemonSet"})


def faster(rules: str, limits: Mapping[str, float]) -> str:
    """The rules with other limits of the load, and shorter times of scaling.

    :raises AssertionError: if the rules do not have what is changed
    """
    for pattern, new in _RULES.items():
        rules, count = re.subn(pattern, new.format(**limits), rules, flags=re.MULTILINE)
        assert count, f"{pattern} is not in the rules"
    return rules
