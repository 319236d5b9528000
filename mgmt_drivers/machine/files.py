"""Files on a machine, owned by root."""

import hashlib
import io
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.conversation import source_of
from mgmt_drivers.ssh.session import DEFAULT_TIMEOUT

# Where phases note on a machine how far it has come; gone with its disk.
STATE_FOLDER = "/var/lib/tacker-mgmt-drivers"
_SLOWEST = 1 << 20  # bytes a second that networks and disks have to do
_PIECE = 1 << 20  # bytes that are in memory

Content = str | bytes | Secret | Path  # a Path is streamed, however large its file is


@dataclass(frozen=True)
class File:
    """A file as it is to be; the mode is octal."""

    path: str
    content: Content
    mode: str = "0644"


_WRITE = Script(__package__, "write-files")
_READ = Script(__package__, "read-file")
_DIGEST = Script(__package__, "digest-files")
_GIVE = Script(__package__, "give-folder")


def read(host: Host, path: str) -> str:
    """Read a text file; empty if there is none."""
    return host.sudo(*_READ.command(path))


def read_json(host: Host, path: str) -> dict[str, Any]:
    """The JSON object in a file that the machine's image may have brought.

    :raises MgmtDriverError: when it holds something else, which must not be lost
    """
    text = read(host, path)
    try:
        found = json.loads(text or "{}")
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise MgmtDriverError(f"{path} on the machine is not a JSON object: mend it in the image")
    return found


def has(host: Host, path: str, content: Content, mode: str = "0644") -> bool:
    """Ask whether the file has this content and mode."""
    return have(host, [File(path, content, mode)])


def have(host: Host, wanted: Sequence[File]) -> bool:
    """Ask whether all files have their contents and modes."""
    limit = _limit(sum(_size(file.content) for file in wanted))
    answer = host.ask(*_DIGEST.command(*(file.path for file in wanted)), timeout=limit)
    return answer.ok and are_digests(answer.stdout, wanted)


def are_digests(text: str, wanted: Sequence[File]) -> bool:
    """Whether a machine has printed the digests and modes of these files."""
    return text.split() == [word for file in wanted for word in _digest(file)]


def _digest(file: File) -> tuple[str, str, str]:
    sha = hashlib.sha256()
    with closing(source_of(file.content)) as source:
        while piece := source.read(_PIECE):
            sha.update(piece)
    return sha.hexdigest(), "-", f"{int(file.mode, 8):o}"


def write(host: Host, path: str, content: Content, mode: str = "0644") -> None:
    """Make the file have this content and mode; atomic."""
    write_all(host, [File(path, content, mode)])


def write_all(host: Host, wanted: Sequence[File]) -> None:
    """Make the files have their contents and modes, one after another and each of them atomic.

    One that is as it is to be stays untouched. A Path is streamed, if it is the only one.
    """
    if not wanted:
        return
    sizes = [_size(file.content) for file in wanted]
    words = [
        word
        for file, size in zip(wanted, sizes, strict=True)
        for word in (file.path, file.mode, str(size))
    ]
    contents = wanted[0].content if len(wanted) == 1 else _joined(wanted)
    host.sudo(*_WRITE.command(*words), stdin=contents, timeout=_limit(sum(sizes)))


def _joined(wanted: Sequence[File]) -> bytes:
    parts = []
    for file in wanted:
        with closing(source_of(file.content)) as source:
            parts.append(source.read())
    return b"".join(parts)


def give_folder(host: Host, folder: str, user: str) -> None:
    """Make a folder that belongs to a user."""
    host.sudo(*_GIVE.command(folder, user))


def _size(content: Content) -> int:
    """Bytes of the content."""
    with closing(source_of(content)) as source:
        return source.seek(0, io.SEEK_END)


def _limit(size: int) -> float:
    """Seconds for so many bytes to be sent or read."""
    return DEFAULT_TIMEOUT + size // _SLOWEST
