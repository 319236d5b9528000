"""Programs of a machine that use the proxy of the request, or none."""

from collections.abc import Sequence

from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.script import Script

# Shells and systemd (EnvironmentFile) read the file in the same way. systemd shows the text of a
# unit to every user of the machine, and a proxy's URL may contain a password.
ENVIRONMENT_FILE = f"{STATE_FOLDER}/proxy.env"
_RUN = Script(__package__, "through-proxy")
_RUN_DIRECTLY = Script(__package__, "without-proxy")


def through_proxy(argv: Sequence[str]) -> tuple[str, ...]:
    """The command that runs ``argv`` as root with the variables of the file."""
    return _RUN.command(ENVIRONMENT_FILE, *argv)


def without_proxy(argv: Sequence[str]) -> tuple[str, ...]:
    """The command that runs ``argv``, which reaches the cluster itself, without any proxy.

    An image may set a proxy in /etc/environment, and sudo of Ubuntu passes it on to commands. Not
    all commands may lose this proxy: if the request has none, apt and the scripts of the VNF
    package use it.
    """
    return _RUN_DIRECTLY.command(*argv)
