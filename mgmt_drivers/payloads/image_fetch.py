"""Fetches an image archive and loads it into Docker, on the machine that is to run it.

A program of its own for Python 3.8 and later, without any other package. It reads a
JSON object with ``url``, and perhaps ``sha256`` (hexadecimal) and ``proxy`` (URL), and
prints what ``docker load`` prints.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import subprocess
import sys
import tempfile
import urllib.request

_LIMIT = 60  # seconds without a byte
_CHUNK = 1 << 20


def main() -> None:
    wanted: dict[str, str] = json.load(sys.stdin)
    proxy = wanted.get("proxy")
    proxies = {"http": proxy, "https": proxy} if proxy else {}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
    sha = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:  # noqa: S108 - a disk, not memory
        try:
            with opener.open(wanted["url"], timeout=_LIMIT) as answer:
                while chunk := answer.read(_CHUNK):
                    sha.update(chunk)
                    file.write(chunk)
        except (OSError, ValueError, http.client.HTTPException) as error:
            sys.exit(f"cannot fetch the image: {getattr(error, 'reason', error)}")
        file.flush()
        if wanted.get("sha256") not in (None, sha.hexdigest()):
            sys.exit(f"the image that was fetched has another SHA-256: {sha.hexdigest()}")
        subprocess.run(["docker", "load", "--quiet", "--input", file.name], check=True)


if __name__ == "__main__":
    main()
