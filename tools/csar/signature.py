"""Signed packages: a zip of a CSAR, its CMS signature, and the signer's certificate.

The form is option 2 of ETSI SOL004's clause 5.1. The three files have one name, and end in .csar,
.cms and .cert. OpenSSL signs and checks: it reads a CSAR piece by piece, however large.
"""

import os
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID as Usage

from tools.csar import contents, toscameta
from tools.csar.errors import CsarError
from tools.csar.package import Fault

CSAR, CMS, CERT = ".csar", ".cms", ".cert"

_LIMIT = 3600.0  # seconds, for a CSAR with images of disks and for somebody to type a passphrase
# Without these OpenSSL also trusts the machine's CAs.
_NO_OTHER_CA = ("-no-CApath", "-no-CAstore")
# From 112 bits on, as TLS has them: no certificates signed by SHA-1, no RSA keys below 2048 bits.
_STRONG = ("-auth_level", "2")
# Of each signature, in what OpenSSL prints; an option that refuses a weak one there is none.
_DIGEST = re.compile(r"^ +digestAlgorithm: *\n +algorithm: (.*?) \(", re.MULTILINE)
_DIGESTS = ("sha256", "sha384", "sha512")
_NO_SIGNER = "signer certificate not found"
_SAYS_NOTHING = ("", "CMS Verification failure")
_DOCUMENTS = x509.ObjectIdentifier("1.3.6.1.5.5.7.3.36")  # RFC 9336
_USAGES = {
    Usage.CODE_SIGNING, Usage.EMAIL_PROTECTION, Usage.ANY_EXTENDED_KEY_USAGE, _DOCUMENTS,
}  # fmt: skip


@dataclass(frozen=True)
class Signer:
    """Who signs: files in PEM. The first certificate is the key's, others lead to the CA."""

    key: Path
    certificate: Path
    passphrase: Path | None = None  # file with the key's; without it OpenSSL asks at the terminal


def sign(csar: Path, signer: Signer) -> Path:
    """Write the zip of a CSAR, its signature and the signer's certificate beside the CSAR.

    :raises CsarError: with OpenSSL's reason
    """
    cms = csar.with_suffix(CMS)
    given = ["-passin", f"file:{signer.passphrase}"] if signer.passphrase else []
    # The signature has all certificates, too: OpenSSL looks for those between the signer's and the
    # CA's nowhere else.
    why = _openssl(
        "-sign", "-md", "sha256", "-in", csar, "-out", cms, "-outform", "PEM", "-inkey", signer.key,
        "-signer", signer.certificate, "-nocerts", "-certfile", signer.certificate, *given,
    )  # fmt: skip
    if why:
        raise CsarError(f"{signer.key}, {signer.certificate}: cannot sign: {why}")
    names = {csar.name: csar, cms.name: cms, csar.with_suffix(CERT).name: signer.certificate}
    target = csar.with_suffix(".zip")
    with zipfile.ZipFile(target, "w") as archive:
        for name, path in names.items():
            entry = zipfile.ZipInfo(name, contents.EPOCH)
            entry.external_attr = 0o644 << 16
            entry.file_size = path.stat().st_size
            with path.open("rb") as source, archive.open(entry, "w") as stream:
                contents.copy(source, stream)
    return target


@contextmanager
def opened(package: Path, authority: Path | None) -> Iterator[tuple[Path, list[Fault]]]:
    """Give the CSAR of a package, signed or not, and the faults of its signature.

    The CSAR of a signed package is a copy, which is removed after the context.

    :param authority: file of the CAs that may have issued the signer's certificate; every package
        must be signed then
    :raises CsarError: the package cannot be read, or has other files than a signed package
    """
    names = contents.names_of(package)
    csars = [name for name in names if name.endswith(CSAR)]
    if toscameta.NAME in names or not csars:
        yield package, [Fault(package.name, "", "is not signed")] if authority else []
        return
    wanted = {Path(csars[0]).with_suffix(suffix).name for suffix in (CSAR, CMS, CERT)}
    others = sorted({name for name in names if name not in wanted or names.count(name) > 1})
    if others:
        expected = f"{', '.join(sorted(wanted))}, each once"
        raise CsarError(f"{package}: has {', '.join(others)}; a signed package has {expected}")
    with tempfile.TemporaryDirectory() as folder:
        contents.extract(package, Path(folder))
        csar = Path(folder, csars[0])
        yield csar, list(_faults(csar, authority))


def _faults(csar: Path, authority: Path | None) -> Iterator[Fault]:
    cms, cert = csar.with_suffix(CMS), csar.with_suffix(CERT)
    if not cms.is_file():
        yield Fault(cms.name, "", "missing")
        return
    check = _check(csar, cms, cert)
    if weak := _weak_digests(cms):
        yield Fault(cms.name, "", f"signs by {weak}: sign by one of {', '.join(_DIGESTS)}")
    broken = _openssl(*check, "-noverify")  # whoever the signer is
    if _NO_SIGNER in broken:
        text = f"is not the signer's of {cms.name}" if cert.is_file() else "missing"
        yield Fault(cert.name, "", text)
    elif broken:
        yield Fault(csar.name, "", f"is not what {cms.name} signs: {broken}")
    if authority is None:
        text = "nobody has checked who signed: name the file of the CA by --ca"
        yield Fault(cms.name, "", text, is_harmless=True)
        return
    signers = csar.with_name("signers")
    trusted = ("-CAfile", authority, *_NO_OTHER_CA, *_STRONG, "-purpose", "any")
    why = _openssl(*check, *trusted, "-signer", signers)
    if not why:
        yield from _unfit(cert.name, signers)
    elif why != broken:
        yield Fault(cert.name, "", f"is not of the CA in {authority}: {why}")


def _weak_digests(cms: Path) -> str:
    """Return the digests of the signatures that somebody could forge; empty if there are none."""
    done = _run("-cmsout", "-print", "-noout", "-inform", _form(cms), "-in", cms)
    names = _DIGEST.findall(done.stdout)  # of something else: OpenSSL says why it is no signature
    return ", ".join(sorted({*names} - {*_DIGESTS}))


def _form(cms: Path) -> str:
    return "PEM" if contents.read(cms).lstrip().startswith(b"-----BEGIN") else "DER"


def _check(csar: Path, cms: Path, cert: Path) -> Sequence[str | Path]:
    """Return OpenSSL's arguments, with the certificate from the file beside the CSAR, if any."""
    given = []
    if cert.is_file():
        contents.read(cert)  # refused if it is too large for OpenSSL's memory, as above
        given = ["-certfile", str(cert), "-nointern"]
    given += ["-inform", _form(cms), "-in", str(cms), "-content", str(csar)]
    return ["-verify", *given, "-out", os.devnull]


def _unfit(name: str, signers: Path) -> Iterator[Fault]:
    """Give signers that the CA has certified for other uses alone, such as for servers."""
    try:
        for signer in x509.load_pem_x509_certificates(signers.read_bytes()):
            who, usages = signer.subject.rfc4514_string(), _usages(signer)
            if usages and _USAGES.isdisjoint(usages):
                yield Fault(name, who, "its extended key usage lets the key sign no packages")
            if not _may_sign(signer):
                yield Fault(name, who, "its key usage lets the key sign nothing")
    except ValueError as error:
        yield Fault(name, "", f"cannot be read: {error}")


def _usages(certificate: x509.Certificate) -> list[x509.ObjectIdentifier]:
    """Return the extended key usages; empty if the certificate is for all."""
    with suppress(x509.ExtensionNotFound):
        return list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    return []


def _may_sign(certificate: x509.Certificate) -> bool:
    with suppress(x509.ExtensionNotFound):
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
        return usage.digital_signature or usage.content_commitment
    return True


def _openssl(*arguments: str | Path) -> str:
    """Run ``openssl cms``; return the reason of a failure, empty after a success."""
    done = _run(*arguments)
    return "" if done.returncode == 0 else _reason(done.stderr) or f"status {done.returncode}"


def _run(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    command = ["openssl", "cms", "-binary", *map(str, arguments)]
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            check=False, timeout=_LIMIT,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise CsarError("openssl is not installed, which makes and checks signatures") from error
    except subprocess.TimeoutExpired as error:
        raise CsarError(f"openssl has not ended within {_LIMIT:.0f} seconds") from error


def _reason(output: str) -> str:
    """Return the reasons in OpenSSL's output, without the places in its sources."""
    found = []
    for line in output.splitlines():
        # thread:error:code:library:function:reason:file:line:data
        fields = line.split(":", 8)
        is_error = len(fields) == 9 and fields[1] == "error"
        reason = fields[8].strip() or fields[5] if is_error else line.strip()
        found.append(reason.removeprefix("Verify error:").strip())
    return ", ".join(reason for reason in dict.fromkeys(found) if reason not in _SAYS_NOTHING)
