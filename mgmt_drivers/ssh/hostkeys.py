"""Pinned host keys: saved at the first login to a machine, checked ever after.

The first key of a machine is trusted, unless the parameters list the keys that it may show. A key
is pinned only after the login: a machine that still boots may show a key that cloud-init replaces,
and another machine that answers but refuses the login must not be trusted.
Keys are saved by server id, not by address: a replaced machine has a new id, and so a new key,
while its address may be the same.
"""

import base64
import hashlib
import re
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import paramiko

from mgmt_drivers.errors import WrongHostKey
from mgmt_drivers.ssh import keys

STORE_KEY = "ssh_host_keys"  # key of the Store: host keys by server id

# 256 bits in base64: the last character has four of them.
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]")
_KEY = re.compile(r"[a-z0-9@.-]+ [A-Za-z0-9+/]+=*")


@dataclass(frozen=True)
class KnownKey:
    """A host key from the parameters: its fingerprint, and its type if the type is known."""

    fingerprint: str
    type: str = ""

    @classmethod
    def parse(cls, text: str) -> "KnownKey":
        """Parse OpenSSH's public key, or a fingerprint of ``ssh-keygen -l``; raises ValueError."""
        if _FINGERPRINT.fullmatch(text):
            return cls(text)
        key = keys.load_public(text)
        return cls(_fingerprint(key), key.get_name())


class HostKeys:
    """The pinned keys by server id, each as ``type base64``; thread safe."""

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        """:raises WrongHostKey: if somebody has changed what is kept with the VNF instance"""
        self._lock = threading.Lock()
        self._keys = dict(known or {})
        for server_id, key in self._keys.items():
            if not isinstance(key, str) or not _KEY.fullmatch(key):
                raise WrongHostKey(
                    f"the SSH host key of server {server_id} in the VNF instance's metadata "
                    f"({STORE_KEY}) is not a type and base64: restore the metadata from an "
                    "earlier show of the VNF instance"
                )

    def keep_only(self, server_ids: set[str]) -> None:
        with self._lock:
            self._keys = {id_: key for id_, key in self._keys.items() if id_ in server_ids}

    def as_dict(self) -> dict[str, str]:
        with self._lock:
            return dict(self._keys)

    def types_of(self, server_id: str, known: Collection[KnownKey]) -> list[str]:
        """Key types to ask the server for: the type of the pinned key, else of the known keys."""
        pinned = self.type_of(server_id)
        return [pinned] if pinned else [key.type for key in known if key.type]

    def type_of(self, server_id: str) -> str | None:
        """Type of a server's pinned key, such as ssh-ed25519; None without a pinned key."""
        pinned = self.as_dict().get(server_id)
        return pinned.split()[0] if pinned else None

    def check(self, server_id: str, address: str, shown: paramiko.PKey) -> None:
        """Compare a server's key with its pinned key; raises WrongHostKey if there is another."""
        if self.as_dict().get(server_id, _text(shown)) != _text(shown):
            raise WrongHostKey(
                f"{address} shows an SSH host key ({_fingerprint(shown)}) other than the one seen "
                f"before, though server {server_id} was not replaced. If its key was changed on "
                "purpose, heal the VNFC; otherwise another machine answers in its place"
            )

    def pin(self, server_id: str, shown: paramiko.PKey) -> None:
        """Pin the key of a server after a login, unless a key is pinned already."""
        with self._lock:
            self._keys.setdefault(server_id, _text(shown))


def check_known(known: Collection[KnownKey], address: str, shown: paramiko.PKey) -> None:
    """Compare a server's key with the known ones, if any; raises WrongHostKey if it is another."""
    print_ = _fingerprint(shown)
    if known and print_ not in {key.fingerprint for key in known}:
        raise WrongHostKey(
            f"{address} shows the SSH host key {shown.get_name()} {print_}, which is not in "
            "host_key. Compare it with the fingerprints on the machine's "
            "console: another machine may answer in its place"
        )


def _text(key: paramiko.PKey) -> str:
    return f"{key.get_name()} {key.get_base64()}"


def _fingerprint(key: paramiko.PKey) -> str:
    """The fingerprint in OpenSSH's format, which paramiko before 3.2 cannot print."""
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"SHA256:{digest}"
