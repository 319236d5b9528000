"""Keys and certificates that are the same in every run: a run can be repeated."""

import datetime

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

_PEM = serialization.Encoding.PEM
_PLAIN = serialization.NoEncryption()
_DAY = datetime.datetime(2020, 1, 1)  # noqa: DTZ001 - UTC, as X.509 has it

SSH_KEY = (
    ec.derive_private_key(7, ec.SECP256R1())
    .private_bytes(_PEM, serialization.PrivateFormat.TraditionalOpenSSL, _PLAIN)
    .decode()
)

HOST_KEY = (
    ec.derive_private_key(8, ec.SECP256R1())
    .public_key()
    .public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    .decode()
)

# Its signatures have nothing random in them.
_TLS = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(32))
TLS_KEY = _TLS.private_bytes(_PEM, serialization.PrivateFormat.PKCS8, _PLAIN)
_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "registry.example.com")])
CERTIFICATE = (
    x509.CertificateBuilder()
    .subject_name(_NAME)
    .issuer_name(_NAME)
    .public_key(_TLS.public_key())
    .serial_number(1)
    .not_valid_before(_DAY)
    .not_valid_after(_DAY + datetime.timedelta(days=36500))
    .sign(_TLS, None)
    .public_bytes(_PEM)
)
