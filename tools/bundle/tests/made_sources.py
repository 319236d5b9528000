"""A signed repository of tiny packages, and archives of tiny images, for real programs."""

import io
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools import docker_archive
from tools.bundle import repository
from tools.bundle.apt import Deb

KEY = "offline@example.com"
IMAGES = ("registry.k8s.io/kube-proxy:v1.37.2", "registry.k8s.io/coredns/coredns:v1.14.6")
_KUBEADM = f"""#!/bin/sh
[ "$*" = "config images list --kubernetes-version v1.37.2" ] || exit 1
printf '%s\\n' {" ".join(IMAGES)}
"""


def make_key(home: Path) -> None:
    """Make a key in GnuPG's folder, which the variable GNUPGHOME must name."""
    home.mkdir(mode=0o700)
    words = ("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key")
    subprocess.run([*words, KEY, "ed25519", "sign", "never"], check=True, capture_output=True)


def make_repository(folder: Path, packages: Mapping[str, str], architecture: str) -> None:
    """Make a flat repository of packages, by their names and versions, with the key beside them.

    ``kubeadm`` depends on ``cri-tools``, and lists images.
    """
    folder.mkdir()
    for name, version in packages.items():
        _make_package(folder, name, version, architecture)
    debs = [Deb("", path) for path in folder.glob("*.deb")]
    key, index = repository.find_key(KEY), repository.index(debs)
    (folder / "Packages").write_bytes(index)
    (folder / "InRelease").write_bytes(repository.release(index, "tiny", architecture, key))
    (folder / "key.asc").write_bytes(key.export())


def _make_package(folder: Path, name: str, version: str, architecture: str) -> None:
    root = folder / name
    (root / "DEBIAN").mkdir(parents=True)
    depends = "Depends: cri-tools\n" if name == "kubeadm" else ""
    (root / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\n{depends}"
        "Maintainer: Nobody <nobody@example.com>\nDescription: Tiny\n"
    )
    if name == "kubeadm":
        program = root / "usr/bin/kubeadm"
        program.parent.mkdir(parents=True)
        program.write_text(_KUBEADM)
        program.chmod(0o755)
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", str(root), str(folder)],
        check=True, capture_output=True,
    )


def make_archive(path: Path, references: Sequence[str]) -> Path:
    layer = docker_archive.layer({"f": b"text"})
    images = {name: ([layer], {"Env": [f"NAME={name}"]}) for name in references}
    stream = io.BytesIO()
    docker_archive.write_all(stream, images)
    path.write_bytes(stream.getvalue())
    return path


def variables(folder: Path) -> dict[str, str]:
    """The environment of programs that must not see the user's own keys and registries."""
    return {**os.environ, "GNUPGHOME": str(folder / "gnupg"), "HOME": str(folder)}
