"""Let a node pull from private registries, and see that it can."""

import dataclasses
import hashlib
from collections.abc import Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.registries import registries
from mgmt_drivers.cluster.registries.registries_params import Registry
from mgmt_drivers.engine.phase import Change
from mgmt_drivers.errors import RegistryError
from mgmt_drivers.machine import files
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.host import Host
from mgmt_drivers.secret import Secret

_DONE = f"{STATE_FOLDER}/registries"  # a digest of those that are configured
_MODE = "0600"  # passwords are part of it


class ConfigureRegistries(Change[Cluster, str]):
    """Let the node pull from private registries, and check that it can.

    The phase precedes the start of kubelet, which remembers for minutes that there were no logins.
    """

    title = "configure registries"

    def __init__(self, before: Sequence[Registry] = ()) -> None:
        self._before = before  # of a running cluster

    def look(self, host: Host, cluster: Cluster) -> str | None:
        digest = _digest(cluster)
        return None if files.has(host, _DONE, digest, _MODE) else digest

    def act(self, host: Host, cluster: Cluster, digest: str) -> None:
        wanted = cluster.params.registries
        registries.write_host_entries(host, wanted)
        # Before a running node gives up what it had.
        errors = registries.verify(host, wanted, cluster.proxy)
        if errors:
            causes = "; ".join(f"{server}: {cause}" for server, cause in errors.items())
            raise RegistryError(f"the machine cannot pull from registries: {causes}")
        kept = {(registry.url, bool(registry.certificate)) for registry in wanted}
        gone = [old for old in self._before if (old.url, bool(old.certificate)) not in kept]
        cluster.runtime.trust(host, wanted, gone)
        registries.write_logins(host, wanted, self._before)
        files.write(host, _DONE, digest, _MODE)


def _digest(cluster: Cluster) -> str:
    sha = hashlib.sha256(cluster.params.container_runtime.encode())
    for registry in cluster.params.registries:
        sha.update(repr(_contents(registry)).encode())
    return sha.hexdigest() + "\n"


def _contents(registry: Registry) -> tuple[object, ...]:
    """The values of all options of a registry, with the password."""
    values = {field.name: getattr(registry, field.name) for field in dataclasses.fields(registry)}
    del values["server"], values["plain_http"]  # the URL has both
    del values["has_kubernetes"]  # which without a login changes nothing
    values["login"] = registry.login.basic if registry.login else None
    plain = (v.reveal() if isinstance(v, Secret) else v for v in values.values())
    shown = ("shown",) if registry.shown_login else ()
    return (registry.url, *plain, *shown)
