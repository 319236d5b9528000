"""A flat repository of packages, signed with the user's key; the same packages give the same bytes.

The signature has the time at which the key was made: a time is part of each signature, no
signature may be older than its key, and clocks of machines may be slow.
"""

import email.utils
import hashlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.bundle.apt import Deb
from tools.bundle.programs import BundleError, run

_CREATED, _FINGERPRINT = 5, 9  # fields of gpg's listing (GnuPG's doc/DETAILS)


@dataclass(frozen=True)
class Key:
    """A key of the user's keyring; ``created`` is in seconds since the epoch.

    The fingerprint names it, since public keys of others may have its e-mail address.
    """

    fingerprint: str
    created: int

    def export(self) -> bytes:
        """The public key, as apt takes it from a file that ends with .asc."""
        options = ("--armor", "--export-options", "export-minimal")
        return run("gpg", "--batch", *options, "--export", self.fingerprint).encode()

    def clearsign(self, text: str) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "Release")
            path.write_text(text)
            run(
                "gpg", "--batch", "--faked-system-time", f"{self.created}!", "--local-user",
                self.fingerprint, "--digest-algo", "SHA512", "--clearsign", str(path),
                advice=f"See that gpg signs by the key {self.fingerprint} (gpg --clearsign)",
            )  # fmt: skip
            return path.with_suffix(".asc").read_bytes()


def find_key(name: str) -> Key:
    """:raises BundleError: the keyring has no secret key of the name, or several"""
    listing = ("--batch", "--with-colons", "--list-secret-keys", name)
    lines = [
        line.split(":")
        for line in run("gpg", *listing, advice=_NO_KEY.format(name)).splitlines()
    ]
    if len([line for line in lines if line[0] == "sec"]) != 1:
        raise BundleError(f"gpg knows several keys {name}: name one by its fingerprint")
    fingerprint = next(line[_FINGERPRINT] for line in lines if line[0] == "fpr")  # of the first key
    created = (int(line[_CREATED]) for line in lines if line[0] in ("sec", "ssb"))
    return Key(fingerprint, max(created))


_NO_KEY = (
    "The keyring has no secret key {0}. Make one by "
    "`gpg --quick-generate-key '{0}' ed25519 sign never`"
)


def index(debs: Sequence[Deb]) -> bytes:
    """The file Packages of a repository."""
    stanzas = []
    for deb in sorted(debs, key=lambda deb: deb.file):
        own = {"Filename": f"./{deb.file}", "Size": deb.path.stat().st_size, "SHA256": deb.sha256}
        lines = [deb.control, *(f"{name}: {value}" for name, value in own.items())]
        stanzas.append("\n".join([*lines, ""]))
    return "\n".join(stanzas).encode()


def release(packages: bytes, label: str, architecture: str, key: Key) -> bytes:
    """The file InRelease of a repository (Debian's wiki, "Debian Repository Format")."""
    sha256 = hashlib.sha256(packages).hexdigest()
    fields = {
        "Origin": "tacker-mgmt-drivers",
        "Label": label,
        "Architectures": f"{architecture} all",
        "Date": email.utils.formatdate(key.created, usegmt=True),
        "SHA256": f"\n {sha256} {len(packages)} Packages",
    }
    return key.clearsign("".join(f"{name}: {value}\n" for name, value in fields.items()))
