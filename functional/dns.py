"""Name resolution in pods: names of the API and of a Service, over UDP and TCP."""

import re
import struct

from functional.kubernetes import KUBECTL
from tools.client.machines import Remote

_DOMAIN = "svc.cluster.local"
_QUERY_ID = 0x5EED
_ADDRESS = re.compile(r"^Address: (?P<address>[0-9.]+)$", re.MULTILINE)
# Lines of the output: before what is of TCP, and after what is of a name.
_TCP, _NEXT = "over TCP:", "next name:"


class Resolver:
    """A pod, named by ``pod``, that asks as other pods would; ``master`` runs kubectl."""

    def __init__(self, master: Remote, pod: str) -> None:
        self._master, self._pod = master, pod

    def ask(self, *names: str) -> list[tuple[str, str]]:
        """The IPv4 addresses of each NAME.NAMESPACE, a Service, over UDP and over TCP.

        An address is empty without an answer. There may be none at first: a server learns of a
        Service, and each node of the servers that there are, a while after the API.
        """
        shown = self.run("; ".join(map(_questions, names)))
        return [_addresses_in(outputs) for outputs in shown.split(_NEXT)[:-1]]

    def fetch(self, address: str, port: int, limit: int = 10) -> str:
        """The body that a web server answers within ``limit`` seconds.

        busybox's wget of Debian 12 crashes in a pod.
        """
        request = rf"printf 'GET / HTTP/1.0\r\n\r\n' | nc -w {limit} {address} {port}"
        return self.run(request).rpartition("\n\r\n")[2].strip()

    def run(self, command: str) -> str:
        """What a shell command prints in the pod."""
        quoted = command.replace("'", "'\\''")
        return self._master.run(f"{KUBECTL} exec {self._pod} -- /bin/busybox sh -c '{quoted}'")


def _questions(name: str) -> str:
    """The shell command that asks for a name both ways; busybox has no program for TCP."""
    query = _query(f"{name}.{_DOMAIN}")
    octets = "".join(f"\\{octet:03o}" for octet in struct.pack("!H", len(query)) + query)
    server = "$(grep ^nameserver /etc/resolv.conf | cut -d ' ' -f 2)"
    over_udp = f"nslookup -type=a {name}.{_DOMAIN}"
    over_tcp = f"printf '{octets}' | nc -w 5 {server} 53 | od -An -v -tx1"
    return f"{over_udp}; echo '{_TCP}'; {over_tcp}; echo '{_NEXT}'"


def _query(name: str) -> bytes:
    """A question for the A records of a name (RFC 1035, 4.1)."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    wants_recursion, one_question = 0x0100, 1
    header = struct.pack("!6H", _QUERY_ID, wants_recursion, one_question, 0, 0, 0)
    return header + labels + b"\0" + struct.pack("!2H", 1, 1)


def _addresses_in(outputs: str) -> tuple[str, str]:
    shown, _, dumped = outputs.partition(_TCP)
    found = [match["address"] for match in _ADDRESS.finditer(shown)]
    # Over TCP a message comes after its length (RFC 1035, 4.2.2).
    return found[-1] if found else "", _address_in(bytes.fromhex(dumped)[2:])


def _address_in(answer: bytes) -> str:
    """The address in an answer that has one, as its last record's data."""
    if not answer:
        return ""
    query_id, flags, _, answers, _, _ = struct.unpack("!6H", answer[:12])
    if query_id != _QUERY_ID:
        raise AssertionError(f"no answer to the question: {answer.hex()}")
    return ".".join(str(octet) for octet in answer[-4:]) if answers and not flags & 0xF else ""
