"""The packages of a node: those of the VNF package's script, and what the driver needs besides."""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.helm import helm
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.cluster.load_balancer import haproxy, keepalived
from mgmt_drivers.cluster.monitoring import monitoring
from mgmt_drivers.cluster.packages.repository_params import SYSTEM
from mgmt_drivers.cluster.storage import nfs
from mgmt_drivers.errors import CommandFailed, InstallationFailed
from mgmt_drivers.machine import files, packages, platforms
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host

_LIMIT = 1800.0  # seconds
_SCRIPT = f"{STATE_FOLDER}/install_k8s_cluster.sh"
_KEY = f"{STATE_FOLDER}/kubernetes.asc"
# One at a time on a machine: a script whose connection broke may still run. In a folder of root's:
# in /run/lock anybody may put a file of that name, and hold the lock.
_LOCK = f"{STATE_FOLDER}/install.lock"


# The setting that names packages, without which a script installs all.
PACKAGES = "KUBERNETES_PACKAGES"


def can_install_some(script: Path) -> bool:
    """Whether a script knows the setting, which earlier contracts had not."""
    return PACKAGES in script.read_text(errors="replace")


def run_script(host: Host, cluster: Cluster, **changes: str) -> None:
    """Run the VNF package's script, whose contract stands at its head.

    :param changes: settings in the place of those for a machine that is to join
    :raises MgmtDriverError: with what it printed last
    """
    extra = host.once(_SCRIPT, functools.partial(_give_script, host, cluster))
    whose = {} if kubeadm.is_member(host) else {"IS_NODE": "no"}
    wanted = {**whose, **settings(host, cluster, extra), **changes}
    words = [f"{k}={v}" for k, v in wanted.items()]
    kubeadm.forget_version(host)
    try:
        packages.run(host, "flock", _LOCK, "env", *words, _SCRIPT, timeout=_LIMIT)
    except CommandFailed as error:
        raise InstallationFailed(
            "the script of the VNF package failed. If the machine does not reach its package "
            "sources, give it a way to them (a route, or the parameter proxy), or an image that "
            f"has the packages. {error}"
        ) from error


def _give_script(host: Host, cluster: Cluster) -> Sequence[str]:
    """Write the script on a machine; returns the packages that it is to install besides."""
    key = cluster.params.package_repository.read_key()
    keys = [File(_KEY, key)] if key is not None else []
    files.write_all(host, [File(_SCRIPT, cluster.params.script.read_bytes(), "0755"), *keys])
    # Packages that the image brought, at whatever version, stay as they are.
    return packages.find_missing(host, needed(host, cluster))


def repository_url(host: Host, cluster: Cluster) -> str:
    url = cluster.params.package_repository.url
    return url.replace(SYSTEM, platforms.detect(host).slug) if SYSTEM in url else url


def needed(host: Host, cluster: Cluster) -> Sequence[str]:
    """The packages that the driver needs on a machine, besides the runtime and Kubernetes."""
    names = [monitoring.PACKAGE] if cluster.params.monitoring else []
    if host.node not in cluster.topology.nodes:  # the storage server
        return [*names, nfs.SERVER_PACKAGE]
    # kubelet mounts PersistentVolumes with the machine's own programs.
    names += [nfs.CLIENT_PACKAGE] if cluster.params.storage else []
    if cluster.topology.is_ha and cluster.is_control_plane(host):
        names += [haproxy.PACKAGE, keepalived.PACKAGE]
    wanted = cluster.params.helm
    if wanted and wanted.is_packaged and cluster.is_control_plane(host):
        names.append(helm.PACKAGE)
    return names


def settings(host: Host, cluster: Cluster, extra: Sequence[str]) -> Mapping[str, str]:
    """The script's environment on a machine; ``extra`` are packages to install besides."""
    params = cluster.params
    repository = params.package_repository
    return {
        "NODE_ROLE": "master" if cluster.is_control_plane(host) else "worker",
        "CONTAINER_RUNTIME": params.container_runtime,
        "KUBERNETES_VERSION": str(params.version),
        "PACKAGE_REPOSITORY": repository_url(host, cluster),
        "PACKAGE_KEY": _KEY if repository.key else "",
        "IMAGE_REPOSITORY": params.image_repository.reference if params.image_repository else "",
        "EXTRA_PACKAGES": " ".join(extra),
    }
