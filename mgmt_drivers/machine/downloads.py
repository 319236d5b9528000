"""Files that a machine downloads itself."""

import json
from pathlib import Path
from urllib.parse import urlsplit

from mgmt_drivers.machine import file_fetch
from mgmt_drivers.machine.host import Host
from mgmt_drivers.params.proxy import Proxy
from mgmt_drivers.secret import Secret

_PROGRAM = Path(file_fetch.__file__).read_text()
_LIMIT = 1800.0  # seconds


def fetch(host: Host, url: str, sha256: str | None, proxy: Proxy | None, *command: str) -> str:
    """Let the machine download a file, and give the file to a command; returns the output.

    :raises CommandFailed: with the reason
    """
    parts = urlsplit(url)
    way = proxy.way_to(parts.scheme, parts.hostname or "") if proxy else None
    request = {"url": url, "sha256": sha256, "proxy": way.reveal() if way else None}
    stdin = Secret(json.dumps({key: value for key, value in request.items() if value}))
    return host.sudo("python3", "-c", _PROGRAM, *command, stdin=stdin, timeout=_LIMIT)
