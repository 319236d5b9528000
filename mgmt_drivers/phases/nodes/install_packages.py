"""Install all packages that a new machine will need, in one transaction of apt."""

import functools
import hashlib
from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change, Lanes, at_once
from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.host import files, nfs, packages
from mgmt_drivers.host.files import STATE_FOLDER
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import haproxy, keepalived
from mgmt_drivers.kube.cluster import Cluster

_LIMIT = 1800.0  # seconds
_SCRIPT = f"{STATE_FOLDER}/install_k8s_cluster.sh"
_KEY = f"{STATE_FOLDER}/kubernetes.asc"
# One at a time on a machine: a script whose connection broke may still run. In a folder of root's:
# in /run/lock anybody may put a file of that name, and hold the lock.
_LOCK = f"{STATE_FOLDER}/install.lock"
_DONE = f"{STATE_FOLDER}/installed"  # names the script and settings that ended well


class InstallPackages(Change[Cluster, str]):
    """Install all packages that the machine will need, in one transaction of apt.

    Nodes get theirs from the VNF package's script, whose contract stands at its head. The
    phases that follow write configuration only.
    """

    title = "install packages"

    def select(self, cluster: Cluster) -> Lanes:
        return at_once(cluster.new_hosts)

    def look(self, host: Host, cluster: Cluster) -> str | None:
        """The digest of what is to be installed, where another or nothing is installed."""
        digest = _digest(host, cluster)
        return None if files.has(host, _DONE, digest) else digest

    def act(self, host: Host, cluster: Cluster, digest: str) -> None:
        if host in cluster.joining:
            _run_script(host, cluster)
        # A script of another hand may leave out what the driver asks for.
        packages.install(host, _packages(host, cluster))
        files.write(host, _DONE, digest)


def _run_script(host: Host, cluster: Cluster) -> None:
    files.write(host, _SCRIPT, cluster.params.script.read_bytes(), "0755")
    key = cluster.params.package_repository.key
    if key:
        files.write(host, _KEY, key.read_bytes())
    # Those that the image brought, at whatever version, stay as they are.
    extra = packages.missing(host, _packages(host, cluster))
    packages.repair(host)
    words = ("flock", _LOCK, "env", *_settings(host, cluster, extra), _SCRIPT)
    try:
        packages.retry_while_locked(host, functools.partial(host.sudo, *words, timeout=_LIMIT))
    except CommandFailed as error:
        raise MgmtDriverError(
            "the script of the VNF package failed. If the machine does not reach its package "
            "sources, give it a way to them (a route, or the parameter proxy), or an image that "
            f"has the packages. {error}"
        ) from error


def _packages(host: Host, cluster: Cluster) -> Sequence[str]:
    """What the driver itself needs on a machine, besides the runtime and Kubernetes."""
    if host not in cluster.joining:
        return [nfs.SERVER_PACKAGE]
    # kubelet mounts PersistentVolumes with the machine's own programs.
    needed = [nfs.CLIENT_PACKAGE] if cluster.params.storage else []
    if cluster.topology.is_balanced and cluster.is_control_plane(host):
        needed += [haproxy.PACKAGE, keepalived.PACKAGE]
    return needed


def _settings(host: Host, cluster: Cluster, extra: Sequence[str]) -> list[str]:
    params = cluster.params
    repository = params.package_repository
    settings = {
        "NODE_ROLE": "master" if cluster.is_control_plane(host) else "worker",
        "CONTAINER_RUNTIME": params.container_runtime,
        "KUBERNETES_VERSION": str(params.version),
        "PACKAGE_REPOSITORY": repository.url,
        "PACKAGE_KEY": _KEY if repository.key else "",
        "IMAGE_REPOSITORY": params.image_repository.reference if params.image_repository else "",
        "EXTRA_PACKAGES": " ".join(extra),
    }
    return [f"{name}={value}" for name, value in settings.items()]


def _digest(host: Host, cluster: Cluster) -> str:
    sha = hashlib.sha256(cluster.params.script.read_bytes())
    sha.update("\0".join(_settings(host, cluster, _packages(host, cluster))).encode())
    key = cluster.params.package_repository.key
    sha.update(key.read_bytes() if key else b"")
    return sha.hexdigest() + "\n"
