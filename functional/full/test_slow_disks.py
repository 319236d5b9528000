"""A control plane whose disks keep a write after 200 ms."""

import contextlib
import re
import time
from collections.abc import Iterator, Sequence

from functional import kubernetes, shell
from functional.cluster_scenario import MASTER, WORKER
from functional.masters_scenario import MastersScenario
from tools.client import wait
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote

_DELAY = 0.2  # seconds
_UNIT = "slow-disk"
_ETCD = "$(pgrep --exact etcd)"
# strace delays the calls of a program, which sees a disk that is slow.
_STRACE = (
    "strace --follow-forks --quiet=all --output=/dev/null --trace=fsync,fdatasync "
    f"--inject=fsync,fdatasync:delay_enter={_DELAY * 1e6:.0f}"
)
_INSTALL = "sudo apt-get update -qq && sudo apt-get install --yes -qq strace"
# Found before the system's Python, with which the drivers measure the disk.
_PYTHON = "/usr/local/bin/python3"
_SLOW_PYTHON = f'#!/bin/sh\nexec {_STRACE} --seccomp-bpf /usr/bin/python3 "$@"\n'


class SlowDisks(MastersScenario):
    """Operations succeed on slow disks, and the log warns of the disk of a new node."""

    image = CONFIG.prepared_image

    def test_slow_disks(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        machines = self.masters(vnf)
        for machine in machines.values():
            machine.run(_INSTALL)
        name, machine = next(iter(machines.items()))
        kubernetes.move_etcd_leader(machines, name)
        with self.slow([machine]):
            self.check_status(vnf, 0)
            self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
            self.heal(vnf, [self.vnfcs(vnf, WORKER)[0][0]])
            self.check_balanced_cluster(vnf, workers=3)
        with self.slow([*machines.values()]):
            self.assertLess(_DELAY, self.time_of_write())
            self.check_status(vnf, 0)
            self.heal(vnf, [self.vnfcs(vnf, WORKER)[0][0]])
            self.check_balanced_cluster(vnf, workers=3)
        if CONFIG.show_log:
            self.check_warning(vnf)
            self.check_balanced_cluster(vnf, workers=3)
        self.check_terminate(vnf)
        if not CONFIG.show_log:
            self.skipTest("FUNCTIONAL_SHOW_LOG is not set: all was seen but the warning")

    @contextlib.contextmanager
    def slow(self, machines: Sequence[Remote]) -> Iterator[None]:
        """Slow the disks of etcd on control-plane nodes. The end fails if etcd has restarted."""
        with contextlib.ExitStack() as units:
            for machine in machines:
                with step(f"slow the disk of etcd on {machine.address}"):
                    unit = f"sudo systemd-run --quiet --collect --unit {_UNIT}"
                    machine.run(f"{unit} {_STRACE} --attach={_ETCD}")
                    units.callback(machine.run, f"sudo systemctl stop {_UNIT}")
                    ask = f"sudo grep TracerPid /proc/{_ETCD}/status"
                    wait.until(
                        lambda: machine.run(ask),  # noqa: B023
                        lambda seen: seen.split()[1] != "0", 60, "strace",
                    )
            log(f"a write takes {self.time_of_write():.3f} s")
            yield

    def time_of_write(self) -> float:
        """The time for the API to keep an object, in seconds."""
        body = {"metadata": {"name": "written"}}
        began = time.monotonic()
        kubernetes.create(self.cluster.core.create_namespaced_config_map, body)
        took = time.monotonic() - began
        kubernetes.delete(self.cluster.core.delete_namespaced_config_map, "written")
        return took

    def check_warning(self, vnf: Vnf) -> None:
        """A new control-plane node has a slow disk when the drivers measure."""
        target, _ = self.vnfcs(vnf, MASTER)[-1]
        failed, new = self.fail_after_replacement(vnf, target)
        new.run(_INSTALL)
        new.run(
            f"cat <<'PYTHON' | sudo tee {_PYTHON}\n{_SLOW_PYTHON}PYTHON\n"
            f"sudo chmod 755 {_PYTHON}"
        )
        self.assert_completed(vnf.retry(failed))
        new.run(f"sudo rm {_PYTHON}")
        shown = shell.output(CONFIG.show_log)
        warnings = "\n".join(line for line in shown.splitlines() if "disk of etcd needs" in line)
        log(warnings)
        self.assertRegex(warnings, warning_of(new.address))


def warning_of(address: str) -> str:
    """A pattern of the warning that the disk of a machine takes 100 ms or more."""
    return rf"{re.escape(address)}\): the disk of etcd needs \d{{3}}"
