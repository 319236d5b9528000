"""How much of what a machine sends is kept before anybody reads it.

paramiko believes whatever length a packet says it has, also before the login, and keeps what
comes on a session without regard to its window: either could fill the memory.
"""

import socket

import paramiko
from paramiko.buffered_pipe import BufferedPipe
from paramiko.common import DEFAULT_WINDOW_SIZE
from paramiko.packet import Packetizer

_LONGEST = 256 << 10  # bytes of a packet, as OpenSSH has it


def limit_packets(transport: paramiko.Transport, sock: socket.socket) -> None:
    """Refuse packets that are longer than any should be; before the handshake."""
    transport.packetizer = _Packetizer(sock)


def limit_unread(channel: paramiko.Channel) -> None:
    """End the connection when more comes than the machine may send; before the command begins."""
    channel.in_buffer = _Unread()
    channel.in_stderr_buffer = _Unread()


class _Packetizer(Packetizer):
    def read_all(self, n: int, check_rekey: bool = False) -> bytes:
        if n > _LONGEST:
            raise paramiko.SSHException(f"the machine sends a packet of {n} bytes")
        return super().read_all(n, check_rekey)


class _Unread(BufferedPipe):
    """Has a window's size, which no machine exceeds that heeds the window (RFC 4254, 5.2)."""

    def feed(self, data: bytes) -> None:
        if len(self) + len(data) > DEFAULT_WINDOW_SIZE:
            raise paramiko.SSHException("the machine sends more than it may")
        super().feed(data)
