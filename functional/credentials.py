"""Certificates and password files for scenarios, made anew each time."""

from pathlib import Path

import bcrypt

from mgmt_drivers.testing.made_certificates import signed


def write_certificate(folder: Path, host: str) -> tuple[Path, Path, str]:
    """Write a certificate for ``host`` and its key; returns both files and the CA's PEM text."""
    made = signed(host)
    certificate, key = folder / "registry.crt", folder / "registry.key"
    certificate.write_bytes(made.certificate)
    key.write_bytes(made.key)
    return certificate, key, made.ca.decode()


def htpasswd(user: str, password: str) -> str:
    """A password file as `htpasswd -B` writes it."""
    digest = bcrypt.hashpw(password.encode(), bcrypt.gensalt(rounds=5)).decode()
    return f"{user}:{digest}\n"
