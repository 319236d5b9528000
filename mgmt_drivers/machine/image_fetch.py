"""Fetches an image archive and loads it into Docker, on the machine that is to run it.

A program of its own for Python 3.8 and later, without any other package. It reads a
JSON object with ``url``, and perhaps ``sha256`` (hexadecimal) and ``proxy`` (URL), and
prints what ``docker load`` prints.
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
# Seconds for all of the image; a server may send a byte now and then. Less than whoever runs this
# waits for it and for Docker: nobody is to find it still at work.
_WHOLE_LIMIT = 1200
_CHUNK = 1 << 20
_MOST = 16 << 30  # bytes; more would rather fill the disk than be an image of a registry


def main() -> None:
    wanted: dict[str, str] = json.load(sys.stdin)
    proxy = wanted.get("proxy")
    proxies = {"http": proxy, "https": proxy} if proxy else {}
    opener = _opener(proxies)
    sha = hashlib.sha256()
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(_WHOLE_LIMIT)
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:  # noqa: S108 - a disk, not memory
        try:
            with opener.open(wanted["url"], timeout=_LIMIT) as answer:
                while chunk := answer.read(_CHUNK):
                    if file.tell() + len(chunk) > _MOST:
                        sys.exit(f"the image is larger than {_MOST >> 30} GiB")
                    sha.update(chunk)
                    file.write(chunk)
        except (OSError, ValueError, http.client.HTTPException) as error:
            sys.exit(f"cannot fetch the image: {getattr(error, 'reason', error)}")
        signal.alarm(0)
        file.flush()
        if wanted.get("sha256") not in (None, sha.hexdigest()):
            sys.exit(f"the image that was fetched has another SHA-256: {sha.hexdigest()}")
        subprocess.run(["docker", "load", "--quiet", "--input", file.name], check=True)


def _give_up(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"not within {_WHOLE_LIMIT} s")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Leaves what comes with a redirection unread, which urllib reads whatever its length."""

    def redirect_request(  # type: ignore[no-untyped-def] # names and types are urllib's
        self, req, fp, code, msg, headers, newurl
    ) -> urllib.request.Request | None:
        fp.close()
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(proxies: dict[str, str]) -> urllib.request.OpenerDirector:
    """One for http and https only, also where it is redirected: this runs as root."""
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
