"""The images of the cloud's containers, built from Debian's packages by their recipes.

No image is pulled: a root file system is made from the Debian mirror, and the other images are
derived from it. An image is never there half: it is named only when complete.

Docker's BuildKit would build them, too, with cache mounts (tried with the engine's own API). But
docker-py cannot ask for it, its progress comes in a binary format of its own, newer command lines
need a plugin that Debian 12 does not have, and its cache is the engine's, which nothing of one
checkout may empty.
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
from tools.devcloud import archives, recipes
from tools.devcloud.errors import CloudError
from tools.devcloud.identity import CACHE_LABEL, Identity
from tools.devcloud.recipes import Recipe
from tools.progress import Progress, Step

# Lines of a build's output that begin with it are progress.
_PROGRESS_PREFIX = "devcloud: "
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


def ensure(
    client: docker.DockerClient,
    identity: Identity,
    progress: Progress,
    release: str,
    oldest: str = recipes.NEWEST,
    monitoring: bool = False,
) -> None:
    """Build every image that is not there yet.

    :param release: of OpenStack, of recipes.RELEASES
    :param oldest: series of Kubernetes, of recipes.MIRRORS
    :param monitoring: whether the controller has Prometheus
    """
    builder = _Builder(client, identity, progress)
    remove_build_containers(client)
    builder.ensure(recipes.BASE)
    # The chains in parallel: some wait for the network while others compile.
    chains = (
        (recipes.DATABASES[release],),
        (recipes.NODE, recipes.NODE_DOCKER),
        (recipes.NODE_BEFORE, recipes.VM),
        (recipes.MIRRORS[oldest],),
    )
    with ThreadPoolExecutor() as pool:
        try:
            for _ in pool.map(builder.ensure_all, chains):
                pass
        except BaseException:
            # The other chains stop, since their images are not used.
            builder.cancelled = True
            remove_build_containers(client)
            raise
    # Each of two chains.
    builder.ensure_all((recipes.NODE_ROUGH, recipes.controller(release, monitoring)))


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
        tag = f"devcloud/rootfs:{hashlib.sha256(recipes.rootfs_inputs(suite)).hexdigest()[:12]}"
        if _exists(self.client, tag):
            return tag
        if not shutil.which("mmdebstrap"):
            raise CloudError("mmdebstrap is missing: apt-get install mmdebstrap, then try again")
        self.identity.cache.mkdir(parents=True, exist_ok=True)
        archive = self.identity.cache / f"{suite}.tar"
        command = ["mmdebstrap", "--quiet", "--variant=minbase"]
        command += [f"--include={','.join(recipes.BASE_PACKAGES)}"]
        command += [suite, str(archive), recipes.DEBIAN]
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
            tar.add(recipes.FOLDER / source, arcname=target.lstrip("/"), filter=_owned_by_root)
    return buffer.getvalue()


def _owned_by_root(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    return entry
