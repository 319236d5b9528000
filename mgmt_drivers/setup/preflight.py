"""See that a new machine is ready for the operation."""

import logging

from mgmt_drivers.engine.phase import Check
from mgmt_drivers.errors import ConnectionFailed, MachineUnfit
from mgmt_drivers.machine import facts, platforms
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

LOG = logging.getLogger(__name__)


class CheckPlatform(Check[object]):
    """Refuse a system that is not supported, before anything changes."""

    title = "check the platform"

    def check(self, host: Host, context: object) -> None:
        platforms.detect(host)


_LIMIT = 600.0  # seconds
_MOST_REBOOTS = 3
_WAIT = Script(__package__, "wait-for-cloud-init")


class WaitForCloudInit(Check[object]):
    """Wait for cloud-init, if the image has it: until its end, packages and users may change.

    cloud-init may reboot the machine: after an upgrade of packages, or as its last act.
    """

    title = "wait for cloud-init"

    def check(self, host: Host, context: object) -> None:
        for reboots in range(_MOST_REBOOTS + 1):
            try:
                if reboots:  # a machine that shuts down may still take a login
                    host.reconnect()
                if facts.gather(host).has_cloud_init:
                    # Its exit status speaks of the last look, not of the wait.
                    host.ask(*_WAIT.command(), timeout=_LIMIT)
                return
            except ConnectionFailed as error:
                LOG.info("%s seems to reboot: %s", host.node, error)
                failure = error
        raise MachineUnfit(
            f"the machine has rebooted more than {_MOST_REBOOTS} times while cloud-init "
            f"worked. See its console log, and the user data of its image and VDU: {failure}"
        ) from failure
