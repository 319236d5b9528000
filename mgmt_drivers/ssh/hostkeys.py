"""Host keys, pinned: taken at the first login to a machine, checked ever after.

Not before the login: a machine that still boots may show a key that cloud-init replaces, and
whoever answers in its place but does not take the login must not become it.
Keys are kept by the id of the server, not by address: a replaced machine has
another id and so is met for the first time, while the address may be the same.
"""

import base64
import hashlib
import threading
from collections.abc import Mapping

import paramiko

from mgmt_drivers.errors import HostKeyChanged


class HostKeys:
    """Server id to its key as ``type base64``; thread safe."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        self._lock = threading.Lock()
        self._keys = dict(known or {})

    def keep_only(self, server_ids: set[str]) -> None:
        """Forget the machines that are no more."""
        with self._lock:
            self._keys = {id_: key for id_, key in self._keys.items() if id_ in server_ids}

    def as_dict(self) -> dict[str, str]:
        with self._lock:
            return dict(self._keys)

    def type_of(self, server_id: str) -> str | None:
        """Type of the key that is pinned for a server, such as ssh-ed25519."""
        pinned = self.as_dict().get(server_id)
        return pinned.split()[0] if pinned else None

    def check(self, server_id: str, address: str, shown: paramiko.PKey) -> None:
        """Compare the key a server shows with the pinned one, if there is one.

        :raises HostKeyChanged: when it is another one
        """
        if self.as_dict().get(server_id, _text(shown)) != _text(shown):
            raise HostKeyChanged(
                f"{address} shows an SSH host key ({_fingerprint(shown)}) other than the one seen "
                f"before, though server {server_id} was not replaced. If its key was changed on "
                "purpose, heal the VNFC; otherwise something answers in its place"
            )


    def pin(self, server_id: str, shown: paramiko.PKey) -> None:
        """Keep the key of a server that has taken the login, unless one is pinned."""
        with self._lock:
            self._keys.setdefault(server_id, _text(shown))


def _text(key: paramiko.PKey) -> str:
    return f"{key.get_name()} {key.get_base64()}"


def _fingerprint(key: paramiko.PKey) -> str:
    """As OpenSSH shows it; paramiko itself has it from 3.2 on."""
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"SHA256:{digest}"
