"""Keys of backups that are made once a process, and signatures as ``ssh-keygen`` makes them."""

import base64
import functools
import hashlib
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

import paramiko
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mgmt_drivers.cluster.backup import backup_keys
from mgmt_drivers.cluster.backup.backup_keys import KeyPair

_WRITTEN = 70  # characters of a line


_EXPONENT = 65537
_PRIME_BITS = 512  # of short keys, which are fast


def _is_prime(number: int) -> bool:
    return all(pow(base, number - 1, number) == 1 for base in (2, 3, 5, 7, 11))


def _prime(source: random.Random) -> int:
    """A prime number whose product with another one has the key's length."""
    while True:
        number = source.getrandbits(_PRIME_BITS) | 3 << (_PRIME_BITS - 2) | 1
        if (number - 1) % _EXPONENT and _is_prime(number):
            return number


@functools.cache
def made_pair(number: int) -> KeyPair:
    """A key pair, always the same for a number."""
    source = random.Random(number)  # noqa: S311 - of tests
    p, q = _prime(source), _prime(source)
    d = pow(_EXPONENT, -1, (p - 1) * (q - 1))
    public = rsa.RSAPublicNumbers(_EXPONENT, p * q)
    key = rsa.RSAPrivateNumbers(
        p, q, d, d % (p - 1), d % (q - 1), rsa.rsa_crt_iqmp(p, q), public
    ).private_key()
    return backup_keys.as_pair(key)


def made_pairs() -> Iterator[KeyPair]:
    """The same key pairs for each test, in their order."""
    return map(made_pair, itertools.count())


def encrypt(public: str, password: str) -> bytes:
    """Encrypt as ``openssl pkeyutl`` does."""
    key = serialization.load_pem_public_key(public.encode())
    assert isinstance(key, rsa.RSAPublicKey)
    oaep = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)
    return key.encrypt(password.encode(), oaep)


def _strings(*parts: bytes) -> bytes:
    message = paramiko.Message()
    for part in parts:
        message.add_string(part)
    return message.asbytes()


@dataclass(frozen=True)
class SigningKey:
    """An ed25519 key, always the same for a name."""

    name: str

    @property
    def _private(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(self.name.encode()).digest())

    @property
    def _blob(self) -> bytes:
        public = self._private.public_key().public_bytes(
            serialization.Encoding.Raw, serialization.PublicFormat.Raw
        )
        return _strings(b"ssh-ed25519", public)

    @property
    def public(self) -> str:
        return f"ssh-ed25519 {base64.b64encode(self._blob).decode()}"

    def sign(self, data: bytes, namespace: str) -> str:
        head = (namespace.encode(), b"", b"sha512")
        signed = b"SSHSIG" + _strings(*head, hashlib.sha512(data).digest())
        signature = _strings(b"ssh-ed25519", self._private.sign(signed))
        version = b"\0\0\0\1"
        blob = b"SSHSIG" + version + _strings(self._blob, *head, signature)
        text = base64.b64encode(blob).decode()
        lines = [text[start : start + _WRITTEN] for start in range(0, len(text), _WRITTEN)]
        begin, end = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
        return "\n".join([begin, *lines, end, ""])
