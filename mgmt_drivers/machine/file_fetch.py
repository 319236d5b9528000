"""Downloads a file and gives it to a command; this program runs on the machine itself.

The program needs Python 3.8 or later and no other package. It reads a JSON object with ``url`` and
optionally ``sha256`` (hexadecimal) and ``proxy`` (URL). Its arguments are the command, which reads
the file from standard input.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import signal
import subprocess
import sys
import tempfile
import urllib.request
from types import FrameType

_LIMIT = 60  # seconds without a byte
# Seconds for the whole file, since a slow server may send a byte now and then. Shorter than the
# driver's own limit, so that no download outlives its command.
_WHOLE_LIMIT = 1200
_CHUNK = 1 << 20
_MOST = 16 << 30  # bytes; no image or bundle is larger, and more could fill the disk


def main() -> None:
    request: dict[str, str] = json.load(sys.stdin)
    proxy = request.get("proxy")
    proxies = {"http": proxy, "https": proxy} if proxy else {}
    opener = _opener(proxies)
    sha = hashlib.sha256()
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(_WHOLE_LIMIT)
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:  # noqa: S108 - a disk, not memory
        try:
            with opener.open(request["url"], timeout=_LIMIT) as answer:
                while chunk := answer.read(_CHUNK):
                    if file.tell() + len(chunk) > _MOST:
                        sys.exit(f"the file is larger than {_MOST >> 30} GiB")
                    sha.update(chunk)
                    file.write(chunk)
        except (OSError, ValueError, http.client.HTTPException) as error:
            sys.exit(f"cannot fetch the file: {getattr(error, 'reason', error)}")
        signal.alarm(0)
        file.seek(0)
        if request.get("sha256") not in (None, sha.hexdigest()):
            sys.exit(f"the file that was fetched has another SHA-256: {sha.hexdigest()}")
        sys.exit(subprocess.run(sys.argv[1:], stdin=file, check=False).returncode)


def _give_up(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"not within {_WHOLE_LIMIT} s")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Does not read the body of a redirection, which urllib would read whatever its length."""

    def redirect_request(  # type: ignore[no-untyped-def] # names and types are urllib's
        self, req, fp, code, msg, headers, newurl
    ) -> urllib.request.Request | None:
        fp.close()
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(proxies: dict[str, str]) -> urllib.request.OpenerDirector:
    """An opener for http and https only, even after a redirection, since this program is root."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(proxies),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        _Redirects(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


if __name__ == "__main__":
    main()
