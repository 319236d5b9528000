"""SSH keys: private keys of logins, public keys of machines."""

import base64
import io

import paramiko

from mgmt_drivers.secret import Secret

_TYPES = (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey)


def load(key: Secret) -> paramiko.PKey:
    """Load a private key without a passphrase (OpenSSH or PEM); raises ValueError."""
    for kind in _TYPES:
        try:
            return kind.from_private_key(io.StringIO(key.reveal()))
        except Exception:  # noqa: BLE001, S112 - parsers of keys may raise anything
            continue
    raise ValueError("not an SSH private key without a passphrase (ed25519, ECDSA or RSA)")


def public_half(key: Secret | None) -> str:
    """The public half of a private key, as a line of OpenSSH; empty without a key."""
    loaded = load(key) if key else None
    return f"{loaded.get_name()} {loaded.get_base64()}" if loaded else ""


def load_public(line: str) -> paramiko.PKey:
    """Load OpenSSH's line: type, base64, perhaps a comment; raises ValueError if it is no key."""
    name, encoded, *_ = [*line.split(None, 2), "", ""]
    for kind in _TYPES:
        try:
            key = kind(data=base64.b64decode(encoded, validate=True))
        except Exception:  # noqa: BLE001, S112 - as above
            continue
        if key.get_name() == name:
            return key
    raise ValueError("not a public SSH key (ed25519, ECDSA or RSA)")
