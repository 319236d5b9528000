"""Files on a machine, owned by root."""

import hashlib
import io
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from mgmt_drivers.errors import MachineUnfit
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.conversation import source_of
from mgmt_drivers.ssh.session import DEFAULT_TIMEOUT

# Notes of phases about the state of the machine; lost with the machine's disk.
STATE_FOLDER = "/var/lib/tacker-mgmt-drivers"
_SLOWEST = 1 << 20  # lowest transfer rate of networks and disks, in bytes a second
_PIECE = 1 << 20  # bytes of a file that are in memory

Content = str | bytes | Secret | Path  # a Path is streamed, so the file may be large


@dataclass(frozen=True)
class File:
    """The expected state of a file; the mode is octal.

    A path that ends with a slash is a folder: it is made with the mode, or stays as it is.
    """

    path: str
    content: Content
    mode: str = "0644"


_WRITE = Script(__package__, "write-files")
_READ = Script(__package__, "read-file")
_DIGEST = Script(__package__, "digest-files")
_GIVE = Script(__package__, "give-folder")


def read(host: Host, path: str) -> str:
    """Read a text file; empty if the file does not exist."""
    return host.sudo(*_READ.command(path))


def read_json(host: Host, path: str) -> dict[str, Any]:
    """Read the JSON object in a file, if any; raises MgmtDriverError if it has other content."""
    text = read(host, path)
    try:
        value = json.loads(text or "{}")
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise MachineUnfit(
            f"{path} on the machine is not a JSON object. Correct the file in the image"
        )
    return value


def has(host: Host, path: str, content: Content, mode: str = "0644") -> bool:
    return has_all(host, [File(path, content, mode)])


def has_all(host: Host, expected: Sequence[File]) -> bool:
    limit = _limit(sum(_size(file.content) for file in expected))
    answer = host.ask(*_DIGEST.command(*(file.path for file in expected)), timeout=limit)
    return answer.ok and are_digests(answer.stdout, expected)


def are_digests(text: str, expected: Sequence[File]) -> bool:
    return text.split() == [word for file in expected for word in _digest(file)]


def _digest(file: File) -> tuple[str, str, str]:
    sha = hashlib.sha256()
    with closing(source_of(file.content)) as source:
        while piece := source.read(_PIECE):
            sha.update(piece)
    return sha.hexdigest(), "-", f"{int(file.mode, 8):o}"


def write(host: Host, path: str, content: Content, mode: str = "0644") -> None:
    """Write a file with this content and mode; atomic."""
    write_all(host, [File(path, content, mode)])


def write_all(host: Host, expected: Sequence[File]) -> None:
    """Write files with their contents and modes, one after another, each atomically.

    A file in the expected state is not touched. A Path is streamed if it is the only file.
    """
    if expected:
        write = writing(expected)
        host.sudo(*write.command, stdin=write.contents, timeout=write.limit)


class Writing(NamedTuple):
    """The command of :func:`write_all`, its standard input, and its limit in seconds."""

    command: Sequence[str]
    contents: Content
    limit: float


def writing(expected: Sequence[File]) -> Writing:
    """The command that writes files; another command may run it as its first step."""
    sizes = [_size(file.content) for file in expected]
    words = [
        word
        for file, size in zip(expected, sizes, strict=True)
        for word in (file.path, file.mode, str(size))
    ]
    contents = expected[0].content
    if len(expected) > 1:
        contents = b"".join(_bytes(file.content) for file in expected)
    return Writing(_WRITE.command(*words), contents, _limit(sum(sizes)))


def give_folder(host: Host, folder: str, user: str, mode: str = "0755") -> None:
    """Create a folder, and give it to a user, unless it has content or another owner."""
    host.sudo(*_GIVE.command(folder, user, mode))


def _bytes(content: Content) -> bytes:
    with closing(source_of(content)) as source:
        return source.read()


def _size(content: Content) -> int:
    with closing(source_of(content)) as source:
        return source.seek(0, io.SEEK_END)


def _limit(size: int) -> float:
    """Seconds for sending or reading a number of bytes."""
    return DEFAULT_TIMEOUT + size // _SLOWEST
