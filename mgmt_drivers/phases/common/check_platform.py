"""Refuse a system that is not supported, before anything changes."""

from typing import Any

from mgmt_drivers.host import platforms
from mgmt_drivers.host.host import Host
from mgmt_drivers.phases.phase import Check


class CheckPlatform(Check[Any]):
    """Passes, or raises UnsupportedPlatform."""

    title = "check the platform"

    def check(self, host: Host, context: Any) -> None:
        platforms.detect(host)
