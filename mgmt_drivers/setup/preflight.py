"""See that a new machine is ready for the operation."""

from mgmt_drivers.engine.phase import Check
from mgmt_drivers.machine import facts, platforms
from mgmt_drivers.machine.host import Host


class CheckPlatform(Check[object]):
    """Refuse a system that is not supported, before anything changes."""

    title = "check the platform"

    def check(self, host: Host, context: object) -> None:
        platforms.detect(host)


_LIMIT = 600.0  # seconds
_FINISHED = "/run/cloud-init/result.json"  # written at the end of its last stage


class WaitForCloudInit(Check[object]):
    """Wait for cloud-init, where the image has it: before, packages and users may change."""

    title = "wait for cloud-init"

    def check(self, host: Host, context: object) -> None:
        if facts.gather(host).has_cloud_init and not host.ask("test", "-e", _FINISHED).ok:
            # Its exit status speaks of cloud-init's own warnings, not of the wait.
            host.ask("cloud-init", "status", "--wait", timeout=_LIMIT)
