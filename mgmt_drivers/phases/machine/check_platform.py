"""Refuse a system that is not supported, before anything changes."""

from mgmt_drivers.engine.phase import Check
from mgmt_drivers.host import platforms
from mgmt_drivers.host.host import Host
from mgmt_drivers.phases.machine.selection import NewMachines, OnNewMachines


class CheckPlatform(OnNewMachines, Check[NewMachines]):
    """The table of supported systems is :data:`mgmt_drivers.host.platforms.SUPPORTED`."""

    title = "check the platform"

    def check(self, host: Host, context: NewMachines) -> None:
        platforms.detect(host)
