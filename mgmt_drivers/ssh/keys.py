"""Keys of SSH: private ones for logging in, public ones of machines."""

import base64
import io

import paramiko

from mgmt_drivers.secret import Secret

_TYPES = (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey)


def load(key: Secret) -> paramiko.PKey:
    """A private key from its text (OpenSSH or PEM), without a passphrase.

    :raises ValueError: when it is none
    """
    for kind in _TYPES:
        try:
            return kind.from_private_key(io.StringIO(key.reveal()))
        except Exception:  # noqa: BLE001, S112 - parsers of keys raise whatever comes to pass
            continue
    raise ValueError("not an SSH private key without a passphrase (ed25519, ECDSA or RSA)")


def load_public(line: str) -> paramiko.PKey:
    """A public key from a line as OpenSSH writes it: its type, base64, and perhaps a comment.

    :raises ValueError: when it is none
    """
    name, encoded, *_ = [*line.split(None, 2), "", ""]
    for kind in _TYPES:
        try:
            key = kind(data=base64.b64decode(encoded, validate=True))
        except Exception:  # noqa: BLE001, S112 - as above
            continue
        if key.get_name() == name:
            return key
    raise ValueError("not a public SSH key (ed25519, ECDSA or RSA)")
