"""Let a node pull from private registries, and see that it can."""

import hashlib

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.host import files
from mgmt_drivers.host.files import STATE_FOLDER
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import registries
from mgmt_drivers.kube.cluster import Cluster
from mgmt_drivers.params.registries import Registry
from mgmt_drivers.phases.phase import Phase

_DONE = f"{STATE_FOLDER}/registries"  # a digest of those that are connected
_MODE = "0600"  # passwords are part of it


class RegistriesUnusable(MgmtDriverError):
    """Registries that a node cannot pull from, with the cause of each."""


class ConnectRegistries(Phase[Cluster]):
    """Before kubelet runs, which remembers for minutes that there were no logins."""

    title = "connect the registries"

    def needed(self, host: Host, context: Cluster) -> bool:
        wanted = context.params.registries
        return bool(wanted) and not files.has(host, _DONE, _digest(context), _MODE)

    def apply(self, host: Host, context: Cluster) -> None:
        wanted = context.params.registries
        registries.name_hosts(host, wanted)
        context.runtime.trust(host, wanted)
        registries.write_logins(host, wanted)
        faults = registries.faults(host, wanted, context.proxy)
        if faults:
            told = "; ".join(f"{server}: {cause}" for server, cause in faults.items())
            raise RegistriesUnusable(f"the machine cannot pull from registries: {told}")
        files.write(host, _DONE, _digest(context), _MODE)


def _digest(cluster: Cluster) -> str:
    sha = hashlib.sha256(cluster.params.container_runtime.encode())
    for registry in cluster.params.registries:
        sha.update(repr(_contents(registry)).encode())
    return sha.hexdigest() + "\n"


def _contents(registry: Registry) -> tuple[object, ...]:
    login, certificate = registry.login, registry.certificate
    return (
        registry.url,
        login.basic.reveal() if login else None,
        certificate.read_bytes() if certificate else None,
        registry.host_entry,
    )
