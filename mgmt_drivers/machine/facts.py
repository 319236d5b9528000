"""Facts about a machine that an operation gathers once, with one command."""

import functools
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from mgmt_drivers import grammar
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

_DESCRIBE = Script(__package__, "describe-machine")
_FACT = "machine"
_PEERS = {"client": "the conductor", "nameserver": "a name server"}


@dataclass(frozen=True)
class MachineFacts:
    """The operating system, and the notes of earlier operations.

    ``os_release`` is the text of /etc/os-release; ``notes`` are the names of the files in the
    drivers' state folder. ``peers`` are the IPv4 addresses that the machine must go on reaching,
    with what each is: that of whoever logs in, as the machine sees it, and the name servers'.
    """

    os_release: str
    has_cloud_init: bool
    has_cgroup_v2: bool
    notes: frozenset[str]
    peers: Mapping[ipaddress.IPv4Address, str]


def gather(host: Host) -> MachineFacts:
    """Gather the facts of a machine, unless they are known."""
    return host.once(_FACT, functools.partial(_ask, host))


def forget(host: Host) -> None:
    host.forget(_FACT)


def _ask(host: Host) -> MachineFacts:
    told = host.sudo(*_DESCRIBE.command(STATE_FOLDER))
    words, notes, peers, release = told.split("\n\n", 3)
    program, _, cgroups = words.partition("\n")
    return MachineFacts(
        release, program == "cloud-init", cgroups == "cgroup2fs", frozenset(notes.split()),
        _peers(peers),
    )


def _peers(text: str) -> dict[ipaddress.IPv4Address, str]:
    found = {}
    for line in text.splitlines():
        kind, _, word = line.partition(" ")
        address = grammar.address(word)
        if isinstance(address, ipaddress.IPv4Address) and kind in _PEERS:
            found[address] = _PEERS[kind]
    return found
