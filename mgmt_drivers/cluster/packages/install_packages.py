"""The packages of a new machine: where apt gets them, and their installation."""

import hashlib
from collections.abc import Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.packages import node_packages
from mgmt_drivers.engine.phase import Change
from mgmt_drivers.machine import docker, facts, files, packages
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host

_NOTE = "installed"  # names the script and settings that ended well
_DONE = f"{STATE_FOLDER}/{_NOTE}"


class UseOfflineRegistry(Change[Cluster, Sequence[File]]):
    """Make the packages of the offline registry the only ones that apt knows.

    apt fails if it does not reach one of its sources, such as those that the image has brought.
    """

    title = "use the offline registry"

    def look(self, host: Host, cluster: Cluster) -> Sequence[File] | None:
        offline = cluster.params.offline
        assert offline, "the phase runs on no machine without the parameter"
        line = f"deb [signed-by={packages.KEYRING}] {node_packages.repository_url(host, cluster)} /"
        expected = packages.only_source(f"{line}\n", offline.key.read_bytes(), offline.ca)
        return None if files.has_all(host, expected) else expected

    def act(self, host: Host, cluster: Cluster, expected: Sequence[File]) -> None:
        files.write_all(host, expected)


class InstallPackages(Change[Cluster, str]):
    """Install all packages that the machine will need, in one transaction of apt.

    Nodes get theirs from the VNF package's script, whose contract stands at its head. The
    phases that follow write configuration only.
    """

    title = "install packages"

    def look(self, host: Host, cluster: Cluster) -> str | None:
        digest = _digest(host, cluster)
        is_noted = _NOTE in facts.gather(host).notes
        return None if is_noted and files.has(host, _DONE, digest) else digest

    def act(self, host: Host, cluster: Cluster, digest: str) -> None:
        params = cluster.params
        if host.node in cluster.topology.nodes:
            if params.container_runtime == "docker" and not docker.is_installed(host):
                docker.choose_network(host, (params.pod_cidr, params.service_cidr))
            node_packages.run_script(host, cluster)
        # A script by another author may leave out packages that the driver asks for.
        packages.install(host, node_packages.needed(host, cluster))
        files.write(host, _DONE, digest)


def _digest(host: Host, cluster: Cluster) -> str:
    sha = hashlib.sha256(cluster.params.script.read_bytes())
    wanted = node_packages.settings(host, cluster, node_packages.needed(host, cluster))
    sha.update("\0".join(f"{name}={value}" for name, value in wanted.items()).encode())
    sha.update(cluster.params.package_repository.read_key() or b"")
    return sha.hexdigest() + "\n"
