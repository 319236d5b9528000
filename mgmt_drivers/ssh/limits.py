"""Limits for data that a machine sends and nobody has read yet.

paramiko trusts the length in a packet's header, even before the login, and buffers a session's
data without regard to the window: either could fill the memory.
"""

import socket

import paramiko
from paramiko.buffered_pipe import BufferedPipe
from paramiko.common import DEFAULT_WINDOW_SIZE
from paramiko.packet import Packetizer

_LONGEST = 256 << 10  # bytes of a packet; OpenSSH has the same limit


def limit_packets(transport: paramiko.Transport, sock: socket.socket) -> None:
    """Refuse packets that are too long; call before the handshake."""
    transport.packetizer = _Packetizer(sock)


def limit_unread(channel: paramiko.Channel) -> None:
    """End the connection if the machine exceeds its window; call before the command begins."""
    channel.in_buffer = _Unread()
    channel.in_stderr_buffer = _Unread()


class _Packetizer(Packetizer):
    def read_all(self, n: int, check_rekey: bool = False) -> bytes:
        if n > _LONGEST:
            raise paramiko.SSHException(f"the machine sends a packet of {n} bytes")
        return super().read_all(n, check_rekey)


class _Unread(BufferedPipe):
    """A buffer of the window's size; a machine must not send more (RFC 4254, 5.2)."""

    def feed(self, data: bytes) -> None:
        if len(self) + len(data) > DEFAULT_WINDOW_SIZE:
            raise paramiko.SSHException("the machine sends more than it may")
        super().feed(data)
