"""The recipes of the images of the cloud's containers, which ``images`` builds.

An image is derived from another one by running a script in it. Every image is named by the
digest of what it is made from, so that it is built once, and again when its recipe changes.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent  # below which the files and scripts of recipes lie
# Raised when ``images`` changes what an image holds for the same recipe.
_FORMAT = "3"
DEBIAN = "http://deb.debian.org/debian"
BASE_PACKAGES = (
    *("ca-certificates", "dbus", "iproute2", "iputils-ping", "procps"),
    *("systemd", "systemd-sysv", "tzdata"),
)


@dataclass(frozen=True)
class Recipe:
    """How one image is made: a parent, files put into it, a script run in it.

    ``files`` maps a path in the image to a path below this package. The script
    is a path below this package too, run as root with the network at hand.
    Without a parent it is made from the root file system of one of Debian's suites.
    ``source`` is another image and a folder of it, which the script finds in /provision.
    """

    name: str
    script: str
    parent: "Recipe | None" = None
    suite: str = "bookworm"
    files: tuple[tuple[str, str], ...] = ()
    source: "tuple[Recipe, str] | None" = None
    entrypoint: str = "/devcloud-entrypoint"

    @property
    def digest(self) -> str:
        sha = hashlib.sha256()
        sha.update(self.parent.digest.encode() if self.parent else rootfs_inputs(self.suite))
        if self.source:
            recipe, folder = self.source
            sha.update(recipe.digest.encode() + folder.encode() + b"\0")
        for target, source in self.files:
            sha.update(target.encode() + b"\0" + (FOLDER / source).read_bytes())
        sha.update((FOLDER / self.script).read_bytes())
        return sha.hexdigest()[:12]

    @property
    def tag(self) -> str:
        return f"devcloud/{self.name}:{self.digest}"


def rootfs_inputs(suite: str) -> bytes:
    return "\0".join([_FORMAT, suite, DEBIAN, *BASE_PACKAGES]).encode()


def _base(name: str, suite: str) -> Recipe:
    return Recipe(
        name=name,
        script="node/provision-base.sh",
        files=(("/devcloud-entrypoint", "node/entrypoint.sh"),),
        suite=suite,
    )


def _node(name: str, base: Recipe) -> Recipe:
    return Recipe(
        name=name,
        script="node/provision-node.sh",
        parent=base,
        files=(
            ("/provision/cloud.cfg", "node/cloud.cfg"),
            ("/provision/runc.sh", "node/runc.sh"),
            ("/provision/tunnel-checksums.sh", "node/tunnel-checksums.sh"),
        ),
    )


BASE = _base("base", "bookworm")
# What the services of every release need from Debian.
FOUNDATIONS = Recipe(name="foundations", script="controller/provision.sh", parent=BASE)
# The releases of OpenStack, the newest first, which is the default. The constraints of a release
# are the versions of all that Python needs, of its services too.
RELEASES = ("2026.2", "2026.1")


def _databases(release: str) -> Recipe:
    """The services of a release, with their databases."""
    services = Recipe(
        name=f"openstack-{release}",
        script="controller/openstack.sh",
        parent=FOUNDATIONS,
        files=(("/provision/constraints.txt", f"controller/openstack-{release}.txt"),),
    )
    return Recipe(
        name=f"databases-{release}", script="controller/databases.sh", parent=services
    )


DATABASES = {release: _databases(release) for release in RELEASES}
NODE = _node("node-debian-13", _base("base-debian-13", "trixie"))
NODE_DOCKER = Recipe(name="node-debian-13-docker", script="node/provision-docker.sh", parent=NODE)
NODE_BEFORE = _node("node-debian-12", BASE)


def _modules(*sets: str) -> tuple[tuple[str, str], ...]:
    """Sets of Go modules that kubernetes/build-modules.sh is to build, with what they share."""
    folder = Path("kubernetes/modules")
    shared = ["flanneld.sh", "programs"]
    found = [path for name in (*sets, *shared) for path in _files(FOLDER / folder / name)]
    names = [path.relative_to(FOLDER / folder) for path in found]
    return tuple((f"/provision/modules/{name}", str(folder / name)) for name in names)


def _files(path: Path) -> list[Path]:
    return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def _mirror(name: str, programs: Recipe) -> Recipe:
    """A mirror from which machines install a series of Kubernetes."""
    return Recipe(
        name=name,
        script="kubernetes/mirror.sh",
        parent=programs,
        files=(
            ("/devcloud-mirror", "kubernetes/serve.sh"),
            ("/provision/10-kubeadm.conf", "kubernetes/10-kubeadm.conf"),
            ("/provision/tools/docker_archive.py", "../docker_archive.py"),
            ("/provision/kubelet.service", "kubernetes/kubelet.service"),
            ("/provision/make_images.py", "kubernetes/make_images.py"),
        ),
        entrypoint="/devcloud-mirror",
    )


# Built on the root file system itself: a change of BASE does not repeat the long build.
_NEWEST = Recipe(
    name="kubernetes-1.37",
    script="kubernetes/build-modules.sh",
    files=_modules("1.37", "flannel-cni-plugin", "helm", "kube-network-policies"),
)
MIRROR = _mirror("mirror", _NEWEST)
_PACKAGES = (MIRROR, "/srv/mirror/1.37/apt")
NODE_KUBERNETES = Recipe(
    name="node-debian-13-kubernetes",
    script="node/provision-kubernetes.sh",
    parent=NODE,
    files=(
        ("/provision/mount-nfs.sh", "node/mount-nfs.sh"),
        ("/provision/mount_nfs.py", "node/mount_nfs.py"),
    ),
    source=_PACKAGES,
)
CONTROLLERS = {
    release: Recipe(
        name=f"controller-{release}",
        script="controller/helm.sh",
        parent=DATABASES[release],
        source=_PACKAGES,
    )
    for release in RELEASES
}
# Layers of their own: clouds without monitoring need no Prometheus.
MONITORS = {
    release: Recipe(
        name=f"monitoring-{release}", script="controller/provision-monitoring.sh", parent=parent
    )
    for release, parent in CONTROLLERS.items()
}
NODE_ROUGH = Recipe(
    name="node-debian-13-rough", script="node/provision-rough.sh", parent=NODE_KUBERNETES
)
OF_SERVERS = (NODE, NODE_DOCKER, NODE_KUBERNETES, NODE_ROUGH, NODE_BEFORE)


def controller(release: str, monitoring: bool) -> Recipe:
    """The image of the controller of a cloud."""
    return (MONITORS if monitoring else CONTROLLERS)[release]


# With kube-bench for the scenarios of upgrades, so that clouds without this series need none.
_BEFORE = Recipe(
    name="kubernetes-1.36",
    script="kubernetes/build-modules.sh",
    parent=MIRROR,
    files=_modules("1.36", "kube-bench"),
)
_MIRROR_OF_BEFORE = _mirror("mirror-1.36", _BEFORE)
# For an upgrade by two series in one request.
_TWO_BEFORE = Recipe(
    name="kubernetes-1.35",
    script="kubernetes/build-modules.sh",
    parent=_MIRROR_OF_BEFORE,
    files=_modules("1.35"),
)
_MIRROR_OF_TWO_BEFORE = _mirror("mirror-1.35", _TWO_BEFORE)
_ADDONS = Recipe(
    name="programs-of-addons",
    script="kubernetes/build-modules.sh",
    parent=_MIRROR_OF_TWO_BEFORE,
    files=_modules("metrics-server", "nfs-provisioner"),
)
_WITH_ADDONS = Recipe(
    name="mirror-with-addons",
    script="kubernetes/addons.sh",
    parent=_ADDONS,
    files=(
        ("/provision/make_addon_images.py", "kubernetes/make_addon_images.py"),
        ("/provision/tools/docker_archive.py", "../docker_archive.py"),
    ),
    entrypoint="/devcloud-mirror",
)
_WITH_DOCKER = Recipe(
    name="kubernetes-1.20",
    script="kubernetes/build-debian.sh",
    parent=_WITH_ADDONS,
    files=(("/provision/crictl.go", "kubernetes/crictl.go"),),
)
# After the long build, which does not depend on it.
_DNS_WITH_DOCKER = Recipe(
    name="coredns-1.20",
    script="kubernetes/build-modules.sh",
    parent=_WITH_DOCKER,
    files=_modules("1.20"),
)
_OF_ALL = _mirror("mirror-of-all", _DNS_WITH_DOCKER)
# Kubernetes' conformance tests and their images, made apart from the mirrors, which take them over.
_CONFORMANCE = Recipe(
    name="conformance",
    script="kubernetes/conformance.sh",
    parent=Recipe(
        name="programs-of-conformance",
        script="kubernetes/build-modules.sh",
        files=_modules("conformance"),
    ),
    files=(
        ("/provision/make_conformance_images.py", "kubernetes/make_conformance_images.py"),
        ("/provision/tools/docker_archive.py", "../docker_archive.py"),
    ),
)


def _with_conformance(mirror: Recipe) -> Recipe:
    return Recipe(
        name=f"{mirror.name}-and-conformance",
        script="kubernetes/take-conformance.sh",
        parent=mirror,
        source=(_CONFORMANCE, "/srv/conformance"),
        entrypoint="/devcloud-mirror",
    )


# By the oldest series of Kubernetes that they have, beside the newer ones: the newest, the two
# before, with images of add-ons, with the conformance tests, and that of the specifications. Each
# has all that those before it have.
MIRRORS = {
    "1.37": MIRROR,
    "1.36": _MIRROR_OF_BEFORE,
    "1.35": _MIRROR_OF_TWO_BEFORE,
    "addons": _WITH_ADDONS,
    "conformance": _with_conformance(_WITH_ADDONS),
    "1.20": _with_conformance(_OF_ALL),
}
NEWEST = next(iter(MIRRORS))
# Kernel, initial RAM disk and root file system of a QEMU machine, as files in /vm. The emulator
# of Debian 12, on which the controller runs, lets the kernel of Debian 13 panic.
VM = Recipe(name="vm-debian-12", script="vm/provision.sh", parent=NODE_BEFORE)
