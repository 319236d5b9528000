"""Facts about a machine that an operation gathers once, with one command."""

from dataclasses import dataclass

from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

_DESCRIBE = Script(__package__, "describe-machine")
_FACT = "machine"


@dataclass(frozen=True)
class MachineFacts:
    """The operating system, and the notes of earlier operations.

    ``os_release`` is the text of /etc/os-release; ``notes`` are the names of the files in the
    drivers' state folder.
    """

    os_release: str
    has_cloud_init: bool
    notes: frozenset[str]


def gather(host: Host) -> MachineFacts:
    """Gather the facts of a machine, unless they are known."""
    return host.once(_FACT, lambda: _ask(host))


def forget(host: Host) -> None:
    """Forget the facts of a machine, so that they are gathered again."""
    host.forget(_FACT)


def _ask(host: Host) -> MachineFacts:
    words, notes, release = host.sudo(*_DESCRIBE.command(STATE_FOLDER)).split("\n\n", 2)
    return MachineFacts(release, words == "cloud-init", frozenset(notes.split()))
