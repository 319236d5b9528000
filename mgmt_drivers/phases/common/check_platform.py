"""Refuse a system that is not supported, before anything changes."""

from typing import Any

from mgmt_drivers.host import platforms
from mgmt_drivers.host.host import Host
from mgmt_drivers.phases.phase import Phase


class CheckPlatform(Phase[Any]):
    """Read-only: passes, or raises UnsupportedPlatform."""

    title = "check the platform"

    def needed(self, host: Host, params: Any) -> bool:
        platforms.detect(host)
        return False

    def apply(self, host: Host, params: Any) -> None:
        """Nothing is ever to be done."""
