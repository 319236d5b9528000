"""Keys and certificates, made by OpenSSL."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.csar.signature import Signer

CA = ("basicConstraints=critical,CA:TRUE", "keyUsage=keyCertSign")


@dataclass(frozen=True)
class Certificates:
    """Makes keys and certificates in a folder."""

    folder: Path

    def issue(
        self, name: str, ca: Signer | None, *extensions: str, passphrase: str = "",
        digest: str = "sha256",
    ) -> Signer:
        """Make a key, and its certificate by a CA; without a CA the key signs its own."""
        config = self.folder / "openssl.cnf"
        config.write_text("[req]\ndistinguished_name = dn\n[dn]\n")
        made = Signer(self.folder / f"{name}.key", self.folder / f"{name}.pem")
        locked = ["-passout", f"pass:{passphrase}"] if passphrase else ["-nodes"]
        by = ["-CA", str(ca.certificate), "-CAkey", str(ca.key)] if ca else []
        added = [word for extension in extensions for word in ("-addext", extension)]
        command = [
            "openssl", "req", "-x509", "-config", str(config), "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:P-256", "-keyout", str(made.key), "-out", str(made.certificate),
            "-subj", f"/CN={name}", "-days", "2", f"-{digest}", *locked, *by, *added,
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)
        return made
