"""Keys and certificates for tests, made anew each time; all PEM."""

import base64
import datetime
import functools
from collections.abc import Collection
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

from mgmt_drivers import grammar


def key_and_certificate() -> tuple[bytes, bytes]:
    """A private key and a certificate signed by it."""
    key = ec.generate_private_key(ec.SECP256R1())
    return _pem(key), _certificate(key, "localhost", key, "localhost")


def fixed() -> tuple[bytes, bytes]:
    """A private key and a certificate signed by it, the same each time, for transcripts."""
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32))
    epoch = datetime.datetime(1970, 1, 2)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name("localhost"))
        .issuer_name(_name("localhost"))
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(epoch)
        .not_valid_after(epoch + datetime.timedelta(days=36500))
    )
    return _pem(key), builder.sign(key, None).public_bytes(serialization.Encoding.PEM)


@dataclass(frozen=True)
class Signed:
    """A server's key and certificate, and the certificate of the CA that signed it."""

    key: bytes
    certificate: bytes
    ca: bytes


def signed(name: str) -> Signed:
    """A certificate for a server of that name or address, signed by a CA of its own."""
    authority, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer = f"CA of {name}"
    return Signed(
        _pem(key),
        _certificate(key, name, authority, issuer),
        _certificate(authority, issuer, authority, issuer, is_authority=True),
    )


def authority(name: str) -> tuple[bytes, bytes]:
    """The key and the certificate of a CA."""
    key = ec.generate_private_key(ec.SECP256R1())
    return _pem(key), _certificate(key, name, key, name, is_authority=True)


def serving(name: str, address: str) -> str:
    """A likeness of a key and a serving certificate of kubelet, by the node that has them."""
    text = base64.b64encode(f"{name} {address}".encode()).decode()
    kinds = ("PRIVATE KEY", "CERTIFICATE")
    return "".join(f"-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n" for kind in kinds)


@functools.cache
def lasting(days: float, serial: int) -> str:
    """A certificate that ends so many days after the epoch, at which the time of tests begins."""
    epoch = datetime.datetime.fromtimestamp(0, datetime.timezone.utc)
    key, name = _any_key(), _name("localhost")
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(epoch - datetime.timedelta(days=1000))
        .not_valid_after(epoch + datetime.timedelta(days=days))
    )
    signed = builder.sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()


@functools.cache
def naming(*names: str) -> bytes:
    """A certificate of an apiserver with these names and addresses, and some of kubeadm's."""
    key = _any_key()
    return _certificate(key, "kubernetes", key, "CA", names=names)


@functools.cache
def _any_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _certificate(
    key: ec.EllipticCurvePrivateKey,
    name: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    issuer: str,
    is_authority: bool = False,
    names: Collection[str] = (),
) -> bytes:
    now = datetime.datetime.now(datetime.timezone.utc)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if not is_authority:
        listed = [*map(_general, (name, *names))]
        builder = builder.add_extension(x509.SubjectAlternativeName(listed), critical=False)
    return builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _general(name: str) -> x509.GeneralName:
    address = grammar.address(name)
    return x509.IPAddress(address) if address else x509.DNSName(name)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(key: ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
