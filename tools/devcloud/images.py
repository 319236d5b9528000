"""The images of the cloud's containers, built from Debian's packages.

No image is pulled: a root file system is made from the Debian mirror, and the
other images are derived from it by running a script in it. Every image is
named by the digest of what it is made from, so that it is built once, again
when its recipe changes, and never half: it is named only when complete.
"""

import contextlib
import hashlib
import io
import os
import shlex
import shutil
import tarfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
from docker.types import Mount

from tools import logged
from tools.devcloud import archives
from tools.devcloud.errors import CloudError
from tools.devcloud.identity import CACHE_LABEL, Identity
from tools.progress import Progress, Step

_HERE = Path(__file__).parent
# Lines of a build's output that begin with it are progress.
_PROGRESS_PREFIX = "devcloud: "
# Raised when this module changes what its images hold for the same recipes.
_FORMAT = "3"
_MIRROR = "http://deb.debian.org/debian"
_BASE_PACKAGES = (
    *("ca-certificates", "dbus", "iproute2", "iputils-ping", "procps"),
    *("systemd", "systemd-sysv", "tzdata"),
)
# Of the containers that builds run in. Not a label: an image would inherit it.
_BUILD_PREFIX = "devcloud-build-"
_CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
# What a build has of the host's, as mounts.
_HOST = "/provision-host"
_HOST_CA_BUNDLE = f"{_HOST}/ca.crt"
# A file, and gone before the script: a container's command stays in the image's history.
_ENVIRONMENT = Path("/provision/environment")
_RUN = f". {_ENVIRONMENT}; rm {_ENVIRONMENT}; exec sh /provision/script"
_PROXY_VARIABLES = (
    *("http_proxy", "https_proxy", "no_proxy", "PIP_INDEX_URL"),
    *("GOPROXY", "GONOPROXY", "GOSUMDB", "GONOSUMDB"),
)
# What builds keep for each other: a folder of the cache by the variable that names it to them.
_CACHES = {"GOCACHE": "go-build", "GOMODCACHE": "go-modules", "PIP_CACHE_DIR": "pip"}


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
        sha.update(self.parent.digest.encode() if self.parent else _rootfs_inputs(self.suite))
        if self.source:
            recipe, folder = self.source
            sha.update(recipe.digest.encode() + folder.encode() + b"\0")
        for target, source in self.files:
            sha.update(target.encode() + b"\0" + (_HERE / source).read_bytes())
        sha.update((_HERE / self.script).read_bytes())
        return sha.hexdigest()[:12]

    @property
    def tag(self) -> str:
        return f"devcloud/{self.name}:{self.digest}"


def _rootfs_inputs(suite: str) -> bytes:
    return "\0".join([_FORMAT, suite, _MIRROR, *_BASE_PACKAGES]).encode()


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
OPENSTACK = Recipe(
    name="openstack",
    script="controller/provision.sh",
    parent=BASE,
    files=(("/provision/constraints.txt", "controller/constraints.txt"),),
)
DATABASES = Recipe(name="controller", script="controller/databases.sh", parent=OPENSTACK)
NODE = _node("node-debian-13", _base("base-debian-13", "trixie"))
NODE_DOCKER = Recipe(name="node-debian-13-docker", script="node/provision-docker.sh", parent=NODE)
NODE_BEFORE = _node("node-debian-12", BASE)


def _modules(*sets: str) -> tuple[tuple[str, str], ...]:
    """Sets of Go modules that kubernetes/build-modules.sh is to build, with what they share."""
    folder = Path("kubernetes/modules")
    shared = ["flanneld.sh", "programs"]
    found = [path for name in (*sets, *shared) for path in _files(_HERE / folder / name)]
    names = [path.relative_to(_HERE / folder) for path in found]
    return tuple((f"/provision/modules/{name}", str(folder / name)) for name in names)


def _files(path: Path) -> list[Path]:
    return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def _mirror(name: str, programs: Recipe) -> Recipe:
    """What machines install a series of Kubernetes from, beside what the image has already."""
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
    files=_modules("1.37", "flannel-cni-plugin", "helm"),
)
MIRROR = _mirror("mirror", _NEWEST)
_PACKAGES = (MIRROR, "/srv/mirror/1.37/apt")
NODE_KUBERNETES = Recipe(
    name="node-debian-13-kubernetes",
    script="node/provision-kubernetes.sh",
    parent=NODE,
    source=_PACKAGES,
)
CONTROLLER = Recipe(
    name="controller-helm", script="controller/helm.sh", parent=DATABASES, source=_PACKAGES
)
NODE_ROUGH = Recipe(
    name="node-debian-13-rough", script="node/provision-rough.sh", parent=NODE_KUBERNETES
)
OF_SERVERS = (NODE, NODE_DOCKER, NODE_KUBERNETES, NODE_ROUGH, NODE_BEFORE)
_BEFORE = Recipe(
    name="kubernetes-1.36",
    script="kubernetes/build-modules.sh",
    parent=MIRROR,
    files=_modules("1.36"),
)
_MIRROR_OF_BEFORE = _mirror("mirror-1.36", _BEFORE)
_WITH_DOCKER = Recipe(
    name="kubernetes-1.20",
    script="kubernetes/build-debian.sh",
    parent=_MIRROR_OF_BEFORE,
    files=(("/provision/crictl.go", "kubernetes/crictl.go"),),
)
# After the long build, which does not depend on it.
_DNS_WITH_DOCKER = Recipe(
    name="coredns-1.20",
    script="kubernetes/build-modules.sh",
    parent=_WITH_DOCKER,
    files=_modules("1.20"),
)
# By the oldest series of Kubernetes that they have, beside the newer ones: the newest, the one
# before, and that of the specifications.
MIRRORS = {
    "1.37": MIRROR,
    "1.36": _MIRROR_OF_BEFORE,
    "1.20": _mirror("mirror-of-all", _DNS_WITH_DOCKER),
}
NEWEST = next(iter(MIRRORS))
# Kernel, initial RAM disk and root file system of a QEMU machine, as files in /vm. The emulator
# of Debian 12, on which the controller runs, lets the kernel of Debian 13 panic.
VM = Recipe(name="vm-debian-12", script="vm/provision.sh", parent=NODE_BEFORE)


def ensure(
    client: docker.DockerClient, identity: Identity, progress: Progress, oldest: str = NEWEST
) -> None:
    """Build every image that is not there yet.

    :param oldest: series of Kubernetes, of MIRRORS
    """
    builder = _Builder(client, identity, progress)
    remove_build_containers(client)
    builder.ensure(BASE)
    # The chains in parallel: some wait for the network while others compile.
    chains = ((DATABASES,), (NODE, NODE_DOCKER), (NODE_BEFORE, VM), (MIRRORS[oldest],))
    with ThreadPoolExecutor() as pool:
        try:
            for _ in pool.map(builder.ensure_all, chains):
                pass
        except BaseException:
            # The other chains stop, since their images are not used.
            builder.cancelled = True
            remove_build_containers(client)
            raise
    builder.ensure_all((NODE_ROUGH, CONTROLLER))  # each of two chains


def remove_build_containers(client: docker.DockerClient) -> None:
    """Remove the containers of a build that was interrupted."""
    found = client.containers.list(
        all=True, filters={"name": _BUILD_PREFIX}, ignore_removed=True
    )
    for container in found:
        if container.name.startswith(_BUILD_PREFIX):
            with contextlib.suppress(docker.errors.NotFound):
                container.remove(force=True, v=True)


def remove(client: docker.DockerClient, progress: Progress) -> None:
    """Remove every image of the embedded clouds that no container uses."""
    images = client.images.list(filters={"label": CACHE_LABEL})
    for image in sorted(images, key=lambda i: i.attrs["Created"], reverse=True):
        for tag in image.tags:
            try:
                client.images.remove(tag)
            except docker.errors.APIError as error:
                progress.say(f"image {tag} stays: {error.explanation}")


def _exists(client: docker.DockerClient, tag: str) -> bool:
    try:
        client.images.get(tag)
    except docker.errors.ImageNotFound:
        return False
    return True


@dataclass
class _Builder:
    client: docker.DockerClient
    identity: Identity
    progress: Progress
    cancelled: bool = False

    def ensure_all(self, recipes: Sequence[Recipe]) -> None:
        for recipe in recipes:
            if not self.cancelled:
                self.ensure(recipe)

    def ensure(self, recipe: Recipe) -> None:
        """Build an image that is not there, after those that it is made from."""
        if _exists(self.client, recipe.tag):
            return
        for other in (recipe.parent, recipe.source and recipe.source[0]):
            if other:
                self.ensure(other)
        with self.progress.step(f"building image {recipe.tag}") as step:
            parent = recipe.parent.tag if recipe.parent else self._root_file_system(recipe.suite)
            self._derive(recipe, parent, step)

    def _root_file_system(self, suite: str) -> str:
        tag = f"devcloud/rootfs:{hashlib.sha256(_rootfs_inputs(suite)).hexdigest()[:12]}"
        if _exists(self.client, tag):
            return tag
        if not shutil.which("mmdebstrap"):
            raise CloudError("mmdebstrap is missing: apt-get install mmdebstrap, then try again")
        self.identity.cache.mkdir(parents=True, exist_ok=True)
        archive = self.identity.cache / f"{suite}.tar"
        command = ["mmdebstrap", "--quiet", "--variant=minbase"]
        command += [f"--include={','.join(_BASE_PACKAGES)}", suite, str(archive), _MIRROR]
        log = self._log(f"root-file-system-{suite}")
        status = logged.run(command, log, lambda line: None)
        if status:
            raise CloudError(f"mmdebstrap failed ({status}); {logged.end_of(log)}")
        repository, _, version = tag.partition(":")
        with archive.open("rb") as data:
            self.client.api.import_image_from_data(
                data, repository=repository, tag=version, changes=[f"LABEL {CACHE_LABEL}=rootfs"]
            )
        archive.unlink()
        return tag

    def _derive(self, recipe: Recipe, parent: str, step: Step) -> None:
        container = self.client.containers.create(
            parent,
            command=["sh", "-c", _RUN],
            entrypoint=[],
            name=f"{_BUILD_PREFIX}{recipe.name}",
            mounts=self._mounts(),
            security_opt=["seccomp=unconfined"],
        )
        try:
            container.put_archive("/", _archive(recipe))
            if recipe.source:
                self._copy(*recipe.source, container)
            container.put_archive("/", archives.tar({str(_ENVIRONMENT): _environment().encode()}))
            container.start()
            log = self._log(recipe.name)
            _follow(container, log, recipe, step)
            status = container.wait()["StatusCode"]
            if status:
                text = f"building {recipe.name} failed ({status}); {logged.end_of(log)}"
                raise CloudError(text)
            repository, _, version = recipe.tag.partition(":")
            container.commit(repository, version, changes=_image_settings(recipe))
        finally:
            with contextlib.suppress(docker.errors.NotFound):
                container.remove(force=True, v=True)

    def _copy(self, source: Recipe, folder: str, container: Any) -> None:
        """Copy a folder of another image into a container, to /provision."""
        name = f"{_BUILD_PREFIX}source-{source.name}"
        other = self.client.containers.create(source.tag, name=name)
        try:
            stream, _ = other.get_archive(folder)
            container.put_archive("/provision", stream)
        finally:
            other.remove(v=True)

    def _log(self, name: str) -> Path:
        """Where the output of a build goes."""
        return self.identity.cache / "builds" / f"{name}.log"

    def _mounts(self) -> list[Mount]:
        """Mounts, not volumes: the latter would be written into the image."""
        mounts = [Mount(_HOST_CA_BUNDLE, _CA_BUNDLE, type="bind", read_only=True)]
        for name in _CACHES.values():
            folder = self.identity.cache / name
            folder.mkdir(parents=True, exist_ok=True)
            mounts.append(Mount(f"{_HOST}/{name}", str(folder), type="bind"))
        return mounts


def _follow(container: Any, log: Path, recipe: Recipe, step: Step) -> None:
    """Write the output of a build into a file, and print its progress."""
    log.parent.mkdir(parents=True, exist_ok=True)
    # The stream comes in pieces, which are not lines.
    pending = ""
    with log.open("wb") as file:
        for piece in container.logs(stream=True, follow=True):
            file.write(piece)
            *lines, pending = (pending + piece.decode(errors="replace")).split("\n")
            for line in lines:
                if line.startswith(_PROGRESS_PREFIX):
                    step.say(f"{recipe.name}: {line.removeprefix(_PROGRESS_PREFIX)}")


def _environment() -> str:
    """Proxies of the host, its CA bundle and caches, for the build only: not in the image."""
    values = {name: os.environ[name] for name in _PROXY_VARIABLES if name in os.environ}
    values |= {name: f"{_HOST}/{folder}" for name, folder in _CACHES.items()}
    values |= {name: _HOST_CA_BUNDLE for name in ("PIP_CERT", "SSL_CERT_FILE")}
    values["PIP_ROOT_USER_ACTION"] = "ignore"
    return "".join(f"export {name}={shlex.quote(text)}\n" for name, text in values.items())


def _image_settings(recipe: Recipe) -> list[str]:
    return [
        f"LABEL {CACHE_LABEL}={recipe.digest}",
        f'ENTRYPOINT ["{recipe.entrypoint}"]',
        "CMD []",
    ]


def _archive(recipe: Recipe) -> bytes:
    """The recipe's files and script as a tar archive to be laid over the parent."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for target, source in (*recipe.files, ("/provision/script", recipe.script)):
            tar.add(_HERE / source, arcname=target.lstrip("/"), filter=_owned_by_root)
    return buffer.getvalue()


def _owned_by_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry
