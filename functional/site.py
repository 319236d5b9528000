"""A site without internet: what its machines try to reach all the same is refused, and counted."""

import functools
import ipaddress
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from openstack.connection import Connection

from functional import name_server, shell
from functional.packages import isolate, isolated_templates
from tools.client import networks, stacks, wait
from tools.client.config import CONFIG
from tools.client.log import log, step
from tools.client.machines import Remote

_FILES_PORT = 8000
_NAMES = "asked.log"  # in the login user's folder
# Without the metadata service cloud-init knows no login, and without DHCP a machine no address.
_OF_THE_CLOUD = ("169.254.169.254/32", "255.255.255.255/32")
_NOWHERE = "192.0.2.1"  # of documentation (RFC 5737)
_UNKNOWN = "www.example.com"
_HINFO = 13  # by which CoreDNS asks itself at its start whether its questions come back
# Of a line of OVN's log of ACLs, such as `..., direction=from-lport: udp,vlan_tci=0x0000,...`.
_PACKET = re.compile(r"from-lport: (?P<protocol>\w+),")
_FIELD = re.compile(r"\b(?P<name>(?:nw|ipv6|tp)_(?:src|dst)|tcp_flags)=(?P<value>[^\s,]+)")


@dataclass
class Site:
    """The site's own addresses, and ``machine``, which serves it names and files.

    ``wrong`` is what readings have found: packets for other addresses, and questions for other
    names than the machines' own.

    :param own: networks of pods and Services. A node sends packets for them to its gateway until
        kube-proxy and the pod network have set the node up
    """

    prefixes: Sequence[str]
    machine: Remote
    own: Sequence[str]
    wrong: list[str] = field(default_factory=list)
    _packets: int = 0
    _questions: int = 0

    def templates(self, csar: Path) -> dict[str, Path]:
        """The templates of a package, by which its machines reach the site alone."""
        return isolated_templates(csar, self.prefixes)

    def serve(self, file: Path) -> str:
        """Serve a file over HTTP; returns its URL."""
        with step(f"copy {file.name} to {self.machine.address}"):
            self.machine.put(file, file.name)
        return f"http://{self.machine.address}:{_FILES_PORT}/{file.name}"

    def prove(self) -> None:
        """See that packets for a server, a clock and the mirror are counted, and a question."""
        aims = [("tcp", _NOWHERE, 443), ("udp", _NOWHERE, 123), ("udp", _NOWHERE, 53)]
        if CONFIG.kubernetes_mirror:
            aims.append(("tcp", str(urlsplit(CONFIG.kubernetes_mirror).hostname), 80))
        with step(f"try to leave the site from {self.machine.address}"):
            for protocol, address, port in aims:
                send = f"echo >/dev/{protocol}/{address}/{port}"
                self.machine.run(f"timeout 2 bash -c '{send}' 2>/dev/null", check=False)
                words = f"{protocol} {self.machine.address} to {address}:{port}"
                wait.until(self._refused, functools.partial(_has, words), 20, words)
            self.machine.run(f"getent hosts {_UNKNOWN}", check=False)
            wait.until(self._asked, functools.partial(_has, _UNKNOWN), 20, _UNKNOWN)
        self.read("the attempts on purpose")
        self.wrong.clear()

    def read(self, what: str) -> None:
        """Read and log what was refused, and asked for, since the last reading."""
        packets, questions = self._refused(), self._asked()
        found = Counter(packets[self._packets :]) + Counter(questions[self._questions :])
        self._packets, self._questions = len(packets), len(questions)
        log(f"refused and asked for after {what}: {found.total()}, {dict(found)}")
        self.wrong += [f"after {what}, {count} times: {each}" for each, count in found.items()]

    def _refused(self) -> list[str]:
        """The packets that asked for something outside and were refused, the first first."""
        packets = map(packet_in, _tell("show").splitlines())
        return [str(each) for each in packets if each and not each.is_for(self.own)]

    def _asked(self) -> list[str]:
        """The questions for names outside, the first first."""
        lines = self.machine.run(f"cat {_NAMES}").splitlines()
        return [line for line in lines if is_outside(line)]


def _has(words: str, lines: Sequence[str]) -> bool:
    return any(line.endswith(words) for line in lines)


@dataclass(frozen=True)
class Packet:
    """A refused packet; an address or a port is empty if the log has none."""

    protocol: str
    source: str
    target: str
    port: str

    def __str__(self) -> str:
        return f"{self.protocol} {self.source} to {self.target}:{self.port}"

    def is_for(self, prefixes: Sequence[str]) -> bool:
        """Whether the packet is for an address in one of the networks."""
        if ":" in self.target or not self.target:
            return False
        address = ipaddress.IPv4Address(self.target)
        return any(address in ipaddress.IPv4Network(each, strict=False) for each in prefixes)


def packet_in(line: str) -> Packet | None:
    """The packet in a line of the log; None for an answer.

    A segment of TCP without SYN asks nobody for anything: its connection began elsewhere, such as
    Tacker's by SSH, and the cloud has forgotten the connection before the machine has.
    """
    match = _PACKET.search(line)
    fields: dict[str, Any] = {found["name"]: found["value"] for found in _FIELD.finditer(line)}
    if "tcp_flags" in fields and "syn" not in fields["tcp_flags"].split("|"):
        return None
    source, target = (fields.get(f"nw_{e}", fields.get(f"ipv6_{e}", "")) for e in ("src", "dst"))
    protocol = match["protocol"] if match else line
    return Packet(protocol, source, target, fields.get("tp_dst", ""))


def is_outside(line: str) -> bool:
    """Whether a line of the name server tells of a name that is not a machine's own."""
    _, kind, name = line.split(" ", 2)
    return "." in name and int(kind) != _HINFO


@contextmanager
def site(connection: Connection, own: Sequence[str]) -> Iterator[Site]:
    """Make the machine with names and files; new machines ask it, and refused packets count.

    :param own: networks of pods and Services
    """
    prefixes = [*networks.prefixes_of_machines(connection, CONFIG.network), *_OF_THE_CLOUD]
    address = networks.free_address(connection, CONFIG.network)
    with (
        networks.name_servers(connection, CONFIG.network, [address]),
        stacks.stack(connection, _resources(address, prefixes)),
        _counted(),
    ):
        machine = Remote(address)
        machine.await_login()
        program = Path(name_server.__file__)
        machine.put(program, program.name)
        start = "sudo systemd-run --quiet --working-directory=$PWD"
        machine.run(
            f"{start} --property=StandardOutput=file:$PWD/{_NAMES} python3 {program.name}\n"
            f"{start} python3 -m http.server {_FILES_PORT}"
        )
        yield Site(prefixes, machine, own)


def _resources(address: str, prefixes: Sequence[str]) -> dict[str, Any]:
    resources = stacks.server("site", CONFIG.node_image, [_FILES_PORT])
    resources["site_port"]["properties"]["fixed_ips"] = [{"ip_address": address}]
    rules = resources["access"]["properties"]["rules"]
    rules.append({"protocol": "udp", "port_range_min": 53, "port_range_max": 53})
    isolate(resources, prefixes)
    return resources


@contextmanager
def _counted() -> Iterator[None]:
    try:
        _tell("start")
        yield
    finally:
        _tell("stop")


def _tell(action: str) -> str:
    return shell.output(f"{CONFIG.refused_packets} {action}")
