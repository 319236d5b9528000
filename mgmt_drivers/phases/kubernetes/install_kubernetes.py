"""Run the package's script, which gives a machine its runtime and Kubernetes' packages."""

import hashlib

from mgmt_drivers.host import files, packages
from mgmt_drivers.host.files import STATE_FOLDER
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.phases.phase import Phase

_LIMIT = 1800.0  # seconds
_SCRIPT = f"{STATE_FOLDER}/install_k8s_cluster.sh"
_KEY = f"{STATE_FOLDER}/kubernetes.asc"
# One at a time on a machine: a script whose connection broke may still run.
_LOCK = "/run/lock/tacker-mgmt-drivers.install"
_DONE = f"{STATE_FOLDER}/installed"  # names the script and settings that ended well


class InstallKubernetes(Phase[Cluster]):
    """The script's contract stands at its head; its settings are its environment."""

    title = "install Kubernetes"

    def needed(self, host: Host, context: Cluster) -> bool:
        return not files.has(host, _DONE, _digest(host, context))

    def apply(self, host: Host, context: Cluster) -> None:
        files.write(host, _SCRIPT, context.params.script.read_bytes(), "0755")
        key = context.params.package_repository.key
        if key:
            files.write(host, _KEY, key.read_bytes())
        words = ("flock", _LOCK, "env", *_settings(host, context), _SCRIPT)
        packages.wait_for_lock(lambda: host.sudo(*words, timeout=_LIMIT))
        files.write(host, _DONE, _digest(host, context))


def _settings(host: Host, cluster: Cluster) -> list[str]:
    params = cluster.params
    repository = params.package_repository
    settings = {
        "NODE_ROLE": "master" if cluster.is_master(host.node) else "worker",
        "CONTAINER_RUNTIME": params.container_runtime,
        "KUBERNETES_VERSION": params.version,
        "PACKAGE_REPOSITORY": repository.url,
        "PACKAGE_KEY": _KEY if repository.key else "",
        "IMAGE_REPOSITORY": params.image_repository.reference if params.image_repository else "",
    }
    return [f"{name}={value}" for name, value in settings.items()]


def _digest(host: Host, cluster: Cluster) -> str:
    sha = hashlib.sha256(cluster.params.script.read_bytes())
    sha.update("\0".join(_settings(host, cluster)).encode())
    key = cluster.params.package_repository.key
    sha.update(key.read_bytes() if key else b"")
    return sha.hexdigest() + "\n"
