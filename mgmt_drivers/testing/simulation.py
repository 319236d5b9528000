"""An HA cluster of simulated machines: what the driver's commands do to it, and no more.

An unknown command fails the test. Faults can be put before or after any command.
"""

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from mgmt_drivers.errors import CommandFailed, ConnectionFailed, OutputTooLong
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import DEFAULT_OUTPUT, DEFAULT_TIMEOUT, Result, Stdin
from mgmt_drivers.testing.fakes import SUDO, fed, named
from mgmt_drivers.testing.simulated_etcd import EtcdPrograms
from mgmt_drivers.testing.simulated_helm import HelmPrograms
from mgmt_drivers.testing.simulated_kubeadm import KubeadmPrograms
from mgmt_drivers.testing.simulated_kubectl import KubectlPrograms
from mgmt_drivers.testing.simulated_machine import MachinePrograms
from mgmt_drivers.testing.simulated_registry import RegistryPrograms
from mgmt_drivers.testing.simulated_storage import StoragePrograms
from mgmt_drivers.testing.simulated_world import Machine, World

Fault = Callable[["SimulatedSession", Sequence[str]], None]


def _is_of_drivers(frame: FrameType) -> bool:
    file = Path(frame.f_code.co_filename)
    return "mgmt_drivers" in file.parts and not {"tests", "testing"} & {*file.parts}


class SimulatedSession(
    MachinePrograms, HelmPrograms, RegistryPrograms, StoragePrograms, EtcdPrograms,
    KubeadmPrograms, KubectlPrograms,
):
    """A connection to a machine of the world.

    ``before`` and ``after`` each command, a fault may strike.
    """

    has_former_login = False

    def __init__(self, world: World, machine: Machine, before: Fault, after: Fault) -> None:
        self.world, self.machine = world, machine
        self.before, self.after = before, after
        self.broken = False

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: Stdin = None,
        sudo: bool = False,
        check: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        limit: int = DEFAULT_OUTPUT,
    ) -> Result:
        assert not sudo or argv[0] in SUDO, f"{argv[0]} is not among what may run with sudo"
        if self.world.deepest is not None:
            self._note_depth(self.world.deepest)
        self.before(self, argv)
        if self.broken or not self.machine.alive:
            raise ConnectionFailed(f"{self.machine.address}: connection lost")
        result = self._answer(list(argv), fed(stdin))
        if self._is_left_unanswered(argv):
            result = Result(1, stderr="Error from server: etcdserver: request timed out")
        if len(result.stdout) + len(result.stderr) > limit:
            raise OutputTooLong(" ".join(argv))
        self.after(self, argv)
        if check and not result.ok:
            raise CommandFailed(" ".join(argv), result.status, result.stderr)
        return result

    def hold(self, argv: Sequence[str], word: str, *, timeout: float = DEFAULT_TIMEOUT) -> Result:
        """The machine is this connection's until it ends, however it does."""
        self.before(self, argv)
        if self.broken or not self.machine.alive:
            raise ConnectionFailed(f"{self.machine.address}: connection lost")
        name, _, who, _ = named(argv)
        assert name == "hold-lock", argv
        with self.world.lock:
            holder = self.machine.holder
            if holder and not holder.broken:
                return Result(75, stderr=self.machine.holder_name)
            self.machine.holder, self.machine.holder_name = self, who
        self.after(self, argv)
        return Result(0, f"{word}\n")

    def hide(self, *secrets: Secret) -> None:
        """Errors of the simulation quote nothing."""

    def close(self) -> None:
        """The guard of the load balancer, if there is one, lets all apiservers in."""
        self.broken = True
        if self.guards:
            self.machine.left_out.clear()

    def _note_depth(self, deepest: list[str]) -> None:
        """Functions of the drivers from the hook to here, across the threads, and this command."""
        threads = {threading.get_ident(), threading.main_thread().ident}
        frames = [frame for ident, frame in sys._current_frames().items() if ident in threads]
        names = ["the command"]
        while frames:
            frame = frames.pop()
            if _is_of_drivers(frame):
                names.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}")
            frames += [frame.f_back] if frame.f_back else []
        self.world.deepest = max(deepest, names, key=len)

    def _is_left_unanswered(self, argv: Sequence[str]) -> bool:
        """Done, and yet not answered: the worst that an election does to a request."""
        asks = argv[0] == "kubectl" and "/readyz" not in argv
        if self.world.unanswered is None or not (asks or {"remove", "upload-certs"} & {*argv}):
            return False
        asked = (self.machine.address, *argv[-8:])  # what is before differs each time
        if asked in self.world.unanswered:
            return False
        self.world.unanswered.add(asked)
        return True

    def _answer(self, argv: list[str], stdin: bytes) -> Result:
        program = argv[0].rpartition("/")[2].replace("-", "_").replace(".", "_")
        handler = getattr(self, f"_{program}", None)
        if handler is None:
            raise AssertionError(f"the simulation does not know {argv}")
        result: Result = handler(argv[1:], stdin)
        return result
