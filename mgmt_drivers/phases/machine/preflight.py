"""See that a new machine is ready for the operation."""

from mgmt_drivers.engine.phase import Check
from mgmt_drivers.host import platforms
from mgmt_drivers.host.host import Host
from mgmt_drivers.host.script import Script
from mgmt_drivers.phases.selection import NewMachines, OnNewMachines


class CheckPlatform(OnNewMachines, Check[NewMachines]):
    """Refuse a system that is not supported, before anything changes."""

    title = "check the platform"

    def check(self, host: Host, context: NewMachines) -> None:
        platforms.detect(host)


_LIMIT = 600.0  # seconds
_HAS = Script("has-program")
_FINISHED = "/run/cloud-init/result.json"  # written at the end of its last stage


class WaitForCloudInit(OnNewMachines, Check[NewMachines]):
    """Wait for cloud-init, where the image has it: before, packages and users may change."""

    title = "wait for cloud-init"

    def check(self, host: Host, context: NewMachines) -> None:
        present = host.ask(*_HAS.command("cloud-init")).ok
        if present and not host.ask("test", "-e", _FINISHED).ok:
            # Its exit status speaks of cloud-init's own warnings, not of the wait.
            host.ask("cloud-init", "status", "--wait", timeout=_LIMIT)
