"""Signatures that ``ssh-keygen -Y sign`` makes (OpenSSH's PROTOCOL.sshsig)."""

import base64
import hashlib

import paramiko

from mgmt_drivers.ssh import keys

_MAGIC = b"SSHSIG"
_VERSION = 1
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_HASHES = {"sha256": hashlib.sha256, "sha512": hashlib.sha512}


def is_valid(data: bytes, signature: str, public_key: str, namespace: str) -> bool:
    """Whether a signature of the data, as OpenSSH's text, is made by a key for a purpose.

    :param public_key: type and base64
    :param namespace: the purpose, which ``ssh-keygen`` was told with ``-n``
    """
    head, _, rest = signature.strip().partition("\n")
    body, _, tail = rest.rpartition("\n")
    if (head, tail) != (_BEGIN, _END):
        return False
    try:
        message = paramiko.Message(base64.b64decode(body))
        if message.get_bytes(len(_MAGIC)) != _MAGIC or message.get_int() != _VERSION:
            return False
        key, purpose, reserved = (message.get_binary() for _ in range(3))
        digest, signed = message.get_binary(), message.get_binary()
        public = keys.load_public(public_key)
        if key != public.asbytes() or purpose != namespace.encode():
            return False
        hashed = _HASHES[digest.decode()](data).digest()
        parts = paramiko.Message()
        parts.add_bytes(_MAGIC)
        for part in (purpose, reserved, digest, hashed):
            parts.add_string(part)
        return bool(public.verify_ssh_sig(parts.asbytes(), paramiko.Message(signed)))
    except (ValueError, KeyError, IndexError, paramiko.SSHException):
        return False
