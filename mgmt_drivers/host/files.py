"""Files on a machine, owned by root."""

import hashlib
import json
import posixpath
from dataclasses import dataclass
from typing import Any

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host.host import Host
from mgmt_drivers.host.script import Script
from mgmt_drivers.secret import Secret

# Where phases note on a machine how far it has come; gone with its disk.
STATE_FOLDER = "/var/lib/tacker-mgmt-drivers"


@dataclass(frozen=True)
class File:
    """A file as it is to be; the mode is octal."""

    path: str
    content: str | bytes | Secret
    mode: str = "0644"


_WRITE = Script("write-file")
_READ = Script("read-file")
_DIGEST = Script("digest-file")


def read(host: Host, path: str) -> str:
    """What a text file holds; nothing where there is none."""
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


def has(host: Host, path: str, content: str | bytes | Secret, mode: str = "0644") -> bool:
    """Whether the file has this content and mode."""
    seen = host.ask(*_DIGEST.command(path))
    wanted = [hashlib.sha256(_bytes(content)).hexdigest(), "-", f"{int(mode, 8):o}"]
    return seen.ok and seen.stdout.split() == wanted


def write(host: Host, path: str, content: str | bytes | Secret, mode: str = "0644") -> None:
    """Make the file have this content and mode; atomic."""
    if has(host, path, content, mode):
        return
    data = _bytes(content)
    words = (path, posixpath.dirname(path), mode, str(len(data)))
    host.sudo(*_WRITE.command(*words), stdin=data)


def _bytes(content: str | bytes | Secret) -> bytes:
    if isinstance(content, Secret):
        content = content.reveal()
    return content.encode() if isinstance(content, str) else content
