"""Bundles for machines without internet, from the cloud's own mirror or the Kubernetes project."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import requests

from tools.client.config import CHECKOUT, CONFIG
from tools.client.kubernetes_source import mirror_url, repository_key, series
from tools.client.log import step
from tools.client.web import ask

_BUSYBOX = "docker.io/library/busybox:1"
_SIGNER = "bundles@localhost"
_SYSTEMS = ("debian-13", "debian-12")  # of CONFIG.node_image, and of CONFIG.vm_image


@dataclass(frozen=True)
class Bundle:
    """A bundle of the configured version, and the public key of its packages."""

    path: Path
    key: Path


def make() -> Bundle:
    """Make a bundle of the configured version, which also has busybox."""
    name = f"bundle-{series().name}"
    home, path, key = (CONFIG.build / n for n in ("gnupg", f"{name}.tar", f"{name}.asc"))
    environment = {**os.environ, "GNUPGHOME": str(home)}
    if not home.exists():
        home.mkdir(mode=0o700, parents=True)
        made = ("gpg", "--batch", "--passphrase", "", "--quick-generate-key", _SIGNER)
        subprocess.run([*made, "ed25519", "sign", "never"], check=True, env=environment)
    words = [sys.executable, "-m", "tools.k8s_vnf", "bundle", "--output", str(path)]
    words += [word for system in _SYSTEMS for word in ("--system", system)]
    words += ["--key", _SIGNER]
    words += ["--kubernetes-version", CONFIG.kubernetes_version]
    with step(f"make {path.name}"):
        words += _mirrored() if CONFIG.kubernetes_mirror else ["--image", _BUSYBOX]
        subprocess.run(words, check=True, cwd=CHECKOUT, env=environment)
    export = ["gpg", "--armor", "--export", _SIGNER]
    key.write_bytes(subprocess.run(export, check=True, capture_output=True, env=environment).stdout)
    return Bundle(path, key)


def _mirrored() -> list[str]:
    """The options that name packages and images of the mirror."""
    (own,) = repository_key().values()
    words = ["--package-repository", f"{mirror_url()}/apt", "--package-key", str(own)]
    folder = CONFIG.build / f"images-{series().name}"
    folder.mkdir(parents=True, exist_ok=True)
    with requests.Session() as session:
        for line in ask(session, "GET", f"{mirror_url()}/images/SHA256SUMS").text.splitlines():
            name = line.split()[1]
            url = f"{mirror_url()}/images/{name}"
            (folder / name).write_bytes(ask(session, "GET", url).content)
            words += ["--archive", str(folder / name)]
    return [*words, "--image", _BUSYBOX.rpartition("/")[2]]
