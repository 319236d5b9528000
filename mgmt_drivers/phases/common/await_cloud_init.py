"""Wait until cloud-init has finished: before that, packages and users may change."""

from typing import Any

from mgmt_drivers.host.host import Host
from mgmt_drivers.phases.phase import Phase

_LIMIT = 600.0  # seconds


class AwaitCloudInit(Phase[Any]):
    """Machines whose image has no cloud-init are ready as they are."""

    title = "await cloud-init"

    def needed(self, host: Host, params: Any) -> bool:
        present = host.ask("sh", "-c", "command -v cloud-init").ok
        return present and not host.ask("test", "-e", "/var/lib/cloud/instance/boot-finished").ok

    def apply(self, host: Host, params: Any) -> None:
        # Its exit status speaks of cloud-init's own warnings, not of the wait.
        host.ask("cloud-init", "status", "--wait", timeout=_LIMIT)
