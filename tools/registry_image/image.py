"""The image: out of Debian's packages, or as its authors publish it.

The same packages give the same bytes. They need no Docker engine: on the machine of a devstack its
firewall rules would cut off the VMs.
"""

import io
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import docker

from tools import docker_archive

TAG = "registry:2"
PACKAGES = ("docker-registry", "libc6")
_ARCHITECTURES = ("amd64", "arm64")

# The layout of the image which is usually pulled under this tag, so that what is written about
# that one is true of this one. REGISTRY_* variables override the configuration.
_CONFIG_PATH = "etc/docker/registry/config.yml"
_CONFIGURATION = b"""\
version: 0.1
log:
  fields:
    service: registry
storage:
  filesystem:
    rootdirectory: /var/lib/registry
  delete:
    enabled: true
http:
  addr: :5000
"""
_RUNTIME = {
    "Entrypoint": ["/bin/registry", "serve"],
    "Cmd": [f"/{_CONFIG_PATH}"],
    "Env": ["PATH=/bin"],
    "ExposedPorts": {"5000/tcp": {}},
    "Volumes": {"/var/lib/registry": {}},
}


class ImageError(Exception):
    """The image cannot be made; the message says what to do next."""


def download(folder: Path) -> list[Path]:
    """Fetch the packages into ``folder`` with apt, and return their files.

    :raises ImageError: apt cannot
    """
    # apt drops root to fetch, which the temporary folder of root does not let it.
    options = ["-qq", "-o", "APT::Sandbox::User=root"]
    _run(["apt-get", *options, "download", *PACKAGES], folder)
    return sorted(folder.glob("*.deb"))


def pack(debs: Sequence[Path]) -> bytes:
    """Return the archive that `docker load` takes, of the registry and the libc that it needs.

    :raises ImageError: the packages are not the right ones
    """
    layer = docker_archive.layer(
        {**_programs(debs), _CONFIG_PATH: _CONFIGURATION},
        modes={_CONFIG_PATH: 0o644},
        folders={"tmp": 0o1777, "var/lib/registry": 0o755},
    )
    stream = io.BytesIO()
    docker_archive.write(stream, TAG, layer, _RUNTIME, _architecture(debs))
    return stream.getvalue()


def pull() -> Iterable[bytes]:
    """Pull the published image, and return its `docker save` archive piece by piece.

    :raises ImageError: there is no Docker engine, or it cannot pull
    """
    name, tag = TAG.split(":")
    try:
        pieces: Iterable[bytes] = docker.from_env().images.pull(name, tag=tag).save(named=TAG)
    except docker.errors.DockerException as error:
        raise ImageError(
            f"cannot pull {TAG}: {error}; without --pull it is made from Debian's packages"
        ) from error
    return pieces


def _architecture(debs: Sequence[Path]) -> str:
    """The architecture of the packages: Debian and Docker give these the same names."""
    name, *others = {_run(["dpkg-deb", "--field", str(d), "Architecture"]) for d in debs}
    architecture = name.decode().strip()
    if others or architecture not in _ARCHITECTURES:
        raise ImageError(f"the packages are not all of one of {', '.join(_ARCHITECTURES)}")
    return architecture


def _programs(debs: Sequence[Path]) -> dict[str, bytes]:
    """The registry, libc and its loader by their paths in the image."""
    with tempfile.TemporaryDirectory() as folder:
        for deb in debs:
            _run(["dpkg-deb", "--extract", str(deb), folder])
        registry = sorted(Path(folder).glob("usr/bin/docker-registry"))
        # A release that merged /lib into /usr packs them under usr/.
        libc = sorted(Path(folder).glob("**/*-linux-gnu/libc.so.6"))
        loader = sorted(Path(folder).glob("**/*-linux-gnu/ld-linux*"))
        if not (registry and libc and loader):
            raise ImageError("the packages do not hold docker-registry, libc.so.6 and its loader")
        files = {"bin/registry": registry[0], "lib/libc.so.6": libc[0]}
        # Programs of arm64 look for the loader in the first, those of amd64 in the second.
        files |= {f"{parent}/{loader[0].name}": loader[0] for parent in ("lib", "lib64")}
        return {name: path.read_bytes() for name, path in files.items()}


def _run(command: Sequence[str], folder: Path | None = None) -> bytes:
    try:
        return subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout
    except FileNotFoundError as error:
        raise ImageError(f"{command[0]} is not here; give the packages with --deb") from error
    except subprocess.CalledProcessError as error:
        stderr = error.stderr.decode(errors="replace").strip()
        raise ImageError(
            f"{' '.join(command)}: exit status {error.returncode}: {stderr}\n"
            "Run 'apt-get update', or give the packages with --deb"
        ) from error
