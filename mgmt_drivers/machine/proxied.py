"""Programs of a machine that use the proxy of the request."""

from collections.abc import Sequence

from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.script import Script

# Shells and systemd (EnvironmentFile) read the file in the same way. systemd shows the text of a
# unit to every user of the machine, and a proxy's URL may contain a password.
ENVIRONMENT_FILE = f"{STATE_FOLDER}/proxy.env"
_RUN = Script(__package__, "through-proxy")


def through_proxy(argv: Sequence[str]) -> tuple[str, ...]:
    """The command that runs ``argv`` as root with the variables of the file."""
    return _RUN.command(ENVIRONMENT_FILE, *argv)
