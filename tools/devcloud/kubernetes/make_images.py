"""Packs the programs of Kubernetes into the images that kubeadm asks for.

Run inside the mirror's build: PROGRAMS VERSION TARGET. CoreDNS is in no package
of Debian's, so its image is not among them.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools import docker_archive

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_IPTABLES = [
    f"/usr/sbin/{family}{action}"
    for family in ("iptables", "ip6tables")
    for action in ("", "-save", "-restore")
]


@dataclass(frozen=True)
class Image:
    """Files by their path in the image; ``command`` becomes the entry point."""

    files: dict[str, Path]
    command: tuple[str, ...] = ()


def main(programs: Path, version: str, target: Path) -> None:
    names = _names(programs / "kubeadm", version)
    for short, image in _images(programs).items():
        reference = names.get(short, f"{short}:1")
        with (target / f"{short}.tar").open("wb") as file:
            settings = {"Env": [_PATH], "Entrypoint": list(image.command)}
            files = {path: source.read_bytes() for path, source in image.files.items()}
            docker_archive.write(file, reference, docker_archive.layer(files), settings)


def _names(kubeadm: Path, version: str) -> dict[str, str]:
    """The reference under which kubeadm asks for an image, by its short name."""
    command = [str(kubeadm), "config", "images", "list", "--kubernetes-version", version]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return {reference.rpartition("/")[2].partition(":")[0]: reference for reference in listed}


def _images(programs: Path) -> dict[str, Image]:
    images = {
        name: Image({f"usr/local/bin/{name}": programs / name}) for name in _CONTROL_PLANE
    }
    images["kube-proxy"] = Image(
        {
            "usr/local/bin/kube-proxy": programs / "kube-proxy",
            **_with_libraries(["/usr/sbin/conntrack", *_IPTABLES], _extensions()),
        }
    )
    etcd = {f"usr/local/bin/{name}": Path(_which(name)) for name in ("etcd", "etcdctl")}
    images["etcd"] = Image({**etcd, **_libraries(etcd.values())})
    images["pause"] = Image({"pause": programs / "pause"}, ("/pause",))
    # For those who try the cluster out.
    images["busybox"] = Image({"bin/busybox": Path(_which("busybox"))}, ("/bin/busybox",))
    return images


def _extensions() -> list[str]:
    return [str(path) for path in Path("/usr/lib").glob("*-linux-gnu/xtables/*.so")]


def _with_libraries(programs: Iterable[str], extensions: Iterable[str]) -> dict[str, Path]:
    chosen = [Path(path) for path in (*programs, *extensions)]
    return {**{str(path)[1:]: path for path in chosen}, **_libraries(chosen)}


def _libraries(programs: Iterable[Path]) -> dict[str, Path]:
    """The shared libraries of programs, and the loader, as ldd tells them."""
    found: dict[str, Path] = {}
    for program in programs:
        told = subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout
        for word in told.split():
            if word.startswith("/"):
                found[word[1:]] = Path(word)
    return found


def _which(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SystemExit(f"{name} is not installed")
    return path


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
