"""Private keys for logging in."""

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
