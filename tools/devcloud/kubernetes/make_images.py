"""Packs the programs into the images that kubeadm, flannel and network policies ask for.

Run inside the mirror's build: PROGRAMS VERSION TARGET. What is not among the
programs comes from Debian's packages; CoreDNS, flannel and the agent of network
policies are in none of them, so there are no images of them then.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tools import docker_archive

_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The reference in the manifest of the package's add-on.
_POLICIES = "registry.k8s.io/networking/kube-network-policies:v0.8.0"
_CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_IPTABLES = [
    f"/usr/sbin/{family}{action}"
    for family in ("iptables", "ip6tables")
    for action in ("", "-save", "-restore")
]


@dataclass(frozen=True)
class Image:
    """Files and links by their path in the image; ``command`` becomes the entry point."""

    files: dict[str, Path]
    command: tuple[str, ...] = ()
    links: dict[str, str] = field(default_factory=dict)


def main(programs: Path, version: str, target: Path) -> None:
    asked_for = [*_of_kubeadm(programs / "kubeadm", version), *_of_flannel(programs), _POLICIES]
    names = {reference.rpartition("/")[2].partition(":")[0]: reference for reference in asked_for}
    for short, image in _images(programs).items():
        reference = names.get(short, f"{short}:1")
        with (target / f"{short}.tar").open("wb") as file:
            settings = {"Env": [_PATH], "Entrypoint": list(image.command)}
            files = {path: source.read_bytes() for path, source in image.files.items()}
            content = docker_archive.layer(files, image.links)
            docker_archive.write(file, reference, content, settings)


def _of_kubeadm(kubeadm: Path, version: str) -> list[str]:
    command = [str(kubeadm), "config", "images", "list", "--kubernetes-version", version]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def _of_flannel(programs: Path) -> list[str]:
    manifest = programs.parent / "kube-flannel.yml"
    return re.findall(r"image: (\S+)", manifest.read_text()) if manifest.exists() else []


def _images(programs: Path) -> dict[str, Image]:
    images = {
        name: Image({f"usr/local/bin/{name}": programs / name}) for name in _CONTROL_PLANE
    }
    images["kube-proxy"] = Image(
        {"usr/local/bin/kube-proxy": programs / "kube-proxy", **_packet_filters()}
    )
    images["etcd"] = Image(_etcd(programs))
    images["pause"] = Image({"pause": programs / "pause"}, ("/pause",))
    if (programs / "coredns").exists():
        images["coredns"] = Image({"coredns": programs / "coredns"}, ("/coredns",))
    if (programs / "flanneld").exists():
        images |= _flannel(programs)
        agent = {"bin/netpol": programs / "netpol"}
        images["kube-network-policies"] = Image(agent, ("/bin/netpol",))
    # For those who try the cluster out.
    images["busybox"] = Image(_busybox(), ("/bin/busybox",))
    return images


def _etcd(programs: Path) -> dict[str, Path]:
    if (programs / "etcd").exists():
        names = ("etcd", "etcdctl", "etcdutl")
        return {f"usr/local/bin/{name}": programs / name for name in names}
    etcd = {f"usr/local/bin/{name}": Path(_which(name)) for name in ("etcd", "etcdctl")}
    return {**etcd, **_libraries(etcd.values())}


def _flannel(programs: Path) -> dict[str, Image]:
    daemon = {
        "opt/bin/flanneld": programs / "flanneld",
        "opt/bin/install-conf": programs / "install_conf",
        **_packet_filters(),
    }
    # The manifest has the plugin copied with the image's own cp.
    plugin = {"flannel": programs / "flannel", **_busybox()}
    return {
        "flannel": Image(daemon, ("/opt/bin/flanneld",)),
        "flannel-cni-plugin": Image(plugin, links={"bin/cp": "busybox"}),
    }


def _busybox() -> dict[str, Path]:
    return {"bin/busybox": Path(_which("busybox"))}


def _packet_filters() -> dict[str, Path]:
    """conntrack, iptables and, where it is installed, nft, with what they load."""
    nft = shutil.which("nft")
    return _with_libraries(
        ["/usr/sbin/conntrack", *_IPTABLES, *([nft] if nft else [])], _extensions()
    )


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
