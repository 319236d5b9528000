"""Input and output of a command on a machine, over a channel of paramiko."""

import io
import threading
import time
from pathlib import Path
from typing import BinaryIO

import paramiko

from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import DEFAULT_OUTPUT, Stdin

# Begins the output of each command, after the output of the shell's start-up files.
BEGIN = "tacker-mgmt-drivers:begin"
_CHUNK = 32768


def source_of(stdin: Stdin) -> BinaryIO:
    """Open the standard input of a command, to be read piece by piece."""
    if isinstance(stdin, Path):
        return stdin.open("rb")
    if isinstance(stdin, Secret):
        stdin = stdin.reveal()
    if isinstance(stdin, str):
        stdin = stdin.encode()
    return io.BytesIO(stdin or b"")


class _Arrival(threading.Event):
    """Set when either stream of a channel has more data, or has ended.

    Replaces the pipe that paramiko makes for select(): a channel that is closed while data arrives
    closes the pipe while the receiving thread still writes to it. The write then fails and ends the
    connection, or hits a reused descriptor.
    """

    def __init__(self, channel: paramiko.Channel) -> None:
        super().__init__()
        channel.in_buffer.set_event(self)
        channel.in_stderr_buffer.set_event(self)

    def clear(self) -> None:
        """Do nothing: paramiko calls this when one stream is empty, and the other may have data."""

    def forget(self) -> None:
        super().clear()


class Output:
    """The output of a command on both streams that was read so far, up to a limit in bytes."""

    def __init__(self, channel: paramiko.Channel, limit: int) -> None:
        self._channel, self._limit = channel, limit
        self._stdout, self._stderr = bytearray(), bytearray()

    @property
    def is_ready(self) -> bool:
        return self._channel.recv_ready() or self._channel.recv_stderr_ready()

    @property
    def has_begun(self) -> bool:
        return f"{BEGIN}\n".encode() in self._stdout

    def read(self) -> None:
        """Read one piece of each stream only, so that the caller can check its deadline."""
        if self._channel.recv_ready():
            self._stdout += self._channel.recv(_CHUNK)
        if self._channel.recv_stderr_ready():
            self._stderr += self._channel.recv_stderr(_CHUNK)
        if len(self._stdout) + len(self._stderr) > self._limit:
            raise BufferError

    def texts(self) -> tuple[str, str, str]:
        """Output of the shell, all until the command has begun; its output and its errors."""
        shell, _, stdout = self._stdout.decode(errors="replace").partition(f"{BEGIN}\n")
        return shell, stdout, self._stderr.decode(errors="replace")


def converse(
    channel: paramiko.Channel,
    prefix: bytes,
    source: BinaryIO | None,
    deadline: float,
    *,
    last_line: str | None = None,
    limit: int = DEFAULT_OUTPUT,
) -> tuple[int, Output]:
    """Feed a command and read its output until it has ended; returns its status and output.

    :param last_line: return with status 0 at this line of output, while the command runs
    :param limit: bytes that the command may write
    :raises BufferError: if the command writes more
    :raises TimeoutError: at the deadline, even while data still arrives
    """
    channel.setblocking(False)
    output, arrival = Output(channel, limit), _Arrival(channel)
    to_send = prefix
    while True:
        arrival.forget()
        # Read before the streams: another thread receives, and the channel closes right after the
        # last data and the status.
        closed = channel.closed
        if source and channel.send_ready():
            to_send = to_send or source.read(_CHUNK)
            if to_send:
                to_send = to_send[_send(channel, to_send) :]
            else:
                channel.shutdown_write()
                source = None
        output.read()
        if last_line is not None and last_line in output.texts()[1].splitlines():
            return 0, output
        if channel.exit_status_ready() and channel.eof_received and not output.is_ready:
            return channel.recv_exit_status(), output
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if closed and not output.is_ready:
            raise EOFError("the machine closed the channel")
        if not output.is_ready and not (source and channel.send_ready()):
            # Data ends the wait; a full send window is checked again soon.
            arrival.wait(min(left, 0.05 if source else 1.0))


def _send(channel: paramiko.Channel, data: bytes) -> int:
    """Send data; returns the number of sent bytes: all if the command no longer reads."""
    try:
        return channel.send(data)
    except TimeoutError:
        return 0
    except OSError:
        return len(data)
