import os
import struct
import subprocess
import zipfile
import zlib
from pathlib import Path
from unittest import mock

from tools.csar import build
from tools.csar.errors import CsarError
from tools.csar.signature import Signer
from tools.csar.tests.made_certificates import CA, Certificates
from tools.csar.tests.sample import CommandTest


class SignatureTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        made = Certificates(self.scratch)
        self.ca, self.other_ca = made.issue("ca", None, *CA), made.issue("other-ca", None, *CA)
        self.signer = made.issue("signer", self.ca, "extendedKeyUsage=codeSigning")
        self.package = self.scratch / "a.zip"

    def sign(self, signer: Signer) -> Path:
        return build.build(self.folder, self.package, signer=signer)

    def verify(self, package: Path, ca: Signer | None) -> tuple[int, str]:
        given = ["--ca", ca.certificate] if ca else []
        status, out, err = self.run_("verify", package, *given)
        return status, out + err

    def changed(self, changes: dict[str, bytes | None]) -> Path:
        """Return a copy of the package with files changed, added or (None) left out."""
        copy = self.scratch / "changed.zip"
        with zipfile.ZipFile(self.package) as source, zipfile.ZipFile(copy, "w") as target:
            files: dict[str, bytes | None] = {name: source.read(name) for name in source.namelist()}
            for name, content in {**files, **changes}.items():
                if content is not None:
                    target.writestr(name, content)
        return copy

    def read(self, name: str) -> bytes:
        with zipfile.ZipFile(self.package) as archive:
            return archive.read(name)

    def test_openssl_accepts_the_signature_of_the_same_csar(self) -> None:
        unsigned = build.build(self.folder, self.scratch / "b.zip").read_bytes()
        self.sign(self.signer)
        folder = self.scratch / "unpacked"
        with zipfile.ZipFile(self.package) as archive:
            self.assertEqual(["a.csar", "a.cms", "a.cert"], archive.namelist())
            archive.extractall(folder)
        self.assertEqual(unsigned, (folder / "a.csar").read_bytes())
        self.assertEqual(self.signer.certificate.read_bytes(), (folder / "a.cert").read_bytes())
        done = subprocess.run(
            [
                "openssl", "cms", "-verify", "-binary", "-inform", "PEM", "-in", "a.cms",
                "-content", "a.csar", "-certfile", "a.cert", "-CAfile", str(self.ca.certificate),
                "-purpose", "any", "-out", "content",
            ],
            cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual((0, "CMS Verification successful\n"), (done.returncode, done.stderr))
        self.assertEqual(unsigned, (folder / "content").read_bytes())

    def test_what_is_accepted(self) -> None:
        made = Certificates(self.scratch)
        between = made.issue("between", self.ca, *CA)
        signer = made.issue("chained", between, "extendedKeyUsage=emailProtection")
        with signer.certificate.open("ab") as chain:
            chain.write(between.certificate.read_bytes())
        for accepted in (self.signer, signer, made.issue("for-all", self.ca)):
            self.sign(accepted)
            self.assertEqual((0, "no faults, no warnings"), self.told(self.package, self.ca))
        warning = "a.cms: nobody has checked who signed: name the file of the CA by --ca"
        status, said = self.verify(self.package, None)
        self.assertEqual(0, status)
        self.assertIn(f"warning: {warning}\n", said)

    def told(self, package: Path, ca: Signer) -> tuple[int, str]:
        status, said = self.verify(package, ca)
        return status, said.splitlines()[-1].removeprefix(f"{package}: ")

    def test_what_is_refused(self) -> None:
        """Each is named, also by a package whose zip is in order."""
        self.sign(self.signer)
        csar = bytearray(self.read("a.csar"))
        csar[len(csar) // 2] ^= 1
        own = self.signer.certificate.read_bytes()
        changes: dict[str, dict[str, bytes | None]] = {
            "a.csar: is not what a.cms signs: verification failure, content verify error": {
                "a.csar": bytes(csar)
            },
            "a.cms: missing": {"a.cms": None},
            "a.cert: missing": {"a.cert": None, "a.cms": self.without_certificate()},
            "a.cert: is not the signer's of a.cms": {
                "a.cert": self.other_ca.certificate.read_bytes()
            },
            "a.csar: is not what a.cms signs: ": {"a.cms": b"-----BEGIN CMS-----\n", "a.cert": own},
            "a.cms: larger than 4 MiB": {"a.cms": bytes((4 << 20) + 1)},
            "a.cert: larger than 4 MiB": {"a.cert": bytes((4 << 20) + 1)},
            "has b.cert; a signed package has a.cert, a.cms, a.csar, each once": {"b.cert": own},
            f"{self.scratch / 'changed.zip'}: TOSCA-Metadata/TOSCA.meta: missing": {"a.csar": None},
        }
        for expected, change in changes.items():
            with self.subTest(expected):
                status, said = self.verify(self.changed(change), self.ca)
                self.assertEqual(1, status)
                self.assertIn(expected, said)

    def test_a_weak_digest_is_refused(self) -> None:
        self.sign(self.signer)
        for digest, status in (("sha1", 1), ("sha224", 1), ("sha384", 0), ("sha512", 0)):
            package = self.changed({"a.cms": self.without_certificate(digest)})
            found, said = self.verify(package, self.ca)
            self.assertEqual(status, found, said)
            self.assertEqual(bool(status), f"a.cms: signs by {digest}: sign by one of" in said)

    def without_certificate(self, digest: str = "sha256") -> bytes:
        csar = self.scratch / "content"
        csar.write_bytes(self.read("a.csar"))
        key, certificate = map(str, (self.signer.key, self.signer.certificate))
        return subprocess.run(
            [
                "openssl", "cms", "-sign", "-binary", "-outform", "PEM", "-in", str(csar),
                "-inkey", key, "-signer", certificate, "-nocerts", "-md", digest,
            ],
            check=True, capture_output=True,
        ).stdout  # fmt: skip

    def test_the_certificate_beside_the_csar_suffices(self) -> None:
        self.sign(self.signer)
        package = self.changed({"a.cms": self.without_certificate()})
        self.assertEqual((0, "no faults, no warnings"), self.told(package, self.ca))
        self.assertEqual(0, self.told(self.changed({"a.cert": None}), self.ca)[0])

    def test_a_file_with_two_names_is_refused(self) -> None:
        """unzip would extract the file beside the CSAR as the CSAR."""
        self.sign(self.signer)
        package = self.changed({"a.cert": None})
        other = zipfile.ZipInfo("a.cert")
        name = struct.pack("<BL", 1, zlib.crc32(b"a.cert")) + b"a.csar"
        other.extra = struct.pack("<HHBHH", 0x9999, 1, 0, 0x7075, len(name)) + name
        with zipfile.ZipFile(package, "a") as archive:
            archive.writestr(other, self.read("a.cert"))
        status, said = self.verify(package, self.ca)
        self.assertEqual(1, status)
        self.assertIn("'a.cert' has a second name", said)

    def test_who_is_refused(self) -> None:
        made = Certificates(self.scratch)
        server = made.issue("server", self.ca, "extendedKeyUsage=serverAuth,clientAuth")
        agrees = made.issue("agrees", self.ca, "keyUsage=keyAgreement")
        weak = made.issue("weak", self.ca, digest="sha1")
        no_ca = made.issue("no-ca", self.signer)
        with no_ca.certificate.open("ab") as chain:
            chain.write(self.signer.certificate.read_bytes())
        reason = "unable to get local issuer certificate"
        wrong_ca = f"a.cert: is not of the CA in {self.other_ca.certificate}: {reason}"
        use = "a.cert: CN=server: its extended key usage lets the key sign no packages"
        for signer, ca, expected in (
            (self.signer, self.other_ca, wrong_ca), (server, self.ca, use),
            (agrees, self.ca, "a.cert: CN=agrees: its key usage lets the key sign nothing"),
            (weak, self.ca, "algorithm too weak"),
            (no_ca, self.ca, "invalid CA certificate"),
        ):
            self.sign(signer)
            status, said = self.verify(self.package, ca)
            self.assertEqual(1, status)
            self.assertIn(expected, said)
        status, said = self.verify(self.package, Signer(self.ca.key, self.scratch / "none"))
        self.assertEqual(2, status)
        self.assertIn("none': there is no such file", said)

    def test_cas_of_the_machine_do_not_count(self) -> None:
        self.sign(self.signer)
        trusted = self.scratch / "trusted"
        trusted.mkdir()
        (trusted / "ca.pem").write_bytes(self.ca.certificate.read_bytes())
        subprocess.run(["openssl", "rehash", str(trusted)], check=True)
        with mock.patch.dict(os.environ, SSL_CERT_DIR=str(trusted)):
            self.assertEqual(1, self.verify(self.package, self.other_ca)[0])

    def test_a_package_that_nobody_signed(self) -> None:
        build.build(self.folder, self.package)
        status, said = self.verify(self.package, self.ca)
        self.assertEqual(1, status)
        self.assertIn("a.zip: is not signed\n", said)
        self.assertIn("only CSARs are signed", self.verify(self.folder, self.ca)[1])

    def test_damage_of_the_zip(self) -> None:
        self.sign(self.signer)
        content = bytearray(self.package.read_bytes())
        content[200] ^= 1
        self.package.write_bytes(content)
        status, said = self.verify(self.package, self.ca)
        self.assertEqual(1, status)
        self.assertIn("Bad CRC-32 for file 'a.csar'", said)

    def test_a_key_with_a_passphrase(self) -> None:
        key = Certificates(self.scratch).issue("locked", self.ca, passphrase="s3cret")
        right, wrong = self._write("right", "s3cret\n"), self._write("wrong", "other\n")
        given = ["--sign", key.key, "--certificate", key.certificate, "--passphrase-file"]
        before = sorted(self.scratch.iterdir())
        status, _, err = self.run_("build", self.folder, "-o", self.package, *given, wrong)
        self.assertEqual(1, status)
        self.assertIn("locked.pem: cannot sign: Could not read signing key from ", err)
        self.assertEqual(before, sorted(self.scratch.iterdir()))
        status, out, _ = self.run_("build", self.folder, "-o", self.package, *given, right)
        self.assertEqual((0, 0), (status, self.verify(self.package, self.ca)[0]))

    def test_errors_of_who_signs(self) -> None:
        status, _, err = self.run_("build", self.folder, "--sign", self.signer.key)
        self.assertEqual(2, status)
        self.assertIn("--sign and --certificate are given together", err)
        words = ("--passphrase-file", self.signer.key)
        self.assertIn("needs --sign", self.run_("build", self.folder, *words)[2])
        with self.assertRaisesRegex(CsarError, "does not match certificate"):
            self.sign(Signer(self.signer.key, self.other_ca.certificate))
        self.assertFalse(self.package.exists())
