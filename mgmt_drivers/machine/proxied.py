"""Programs of a machine that reach the world through the proxy of the request."""

from collections.abc import Sequence

from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.script import Script

# Shell and systemd (EnvironmentFile) read it alike. What stands in a unit itself,
# systemd shows to every user of the machine; a proxy's URL may carry a password.
ENVIRONMENT_FILE = f"{STATE_FOLDER}/proxy.env"
_RUN = Script(__package__, "through-proxy")


def through_proxy(argv: Sequence[str]) -> tuple[str, ...]:
    """The command that runs ``argv`` with the file's variables, for root."""
    return _RUN.command(ENVIRONMENT_FILE, *argv)
