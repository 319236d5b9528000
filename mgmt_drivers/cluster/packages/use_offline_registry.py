"""Let apt of a machine without internet use the packages of a private registry's bundles."""

from collections.abc import Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.packages import node_packages
from mgmt_drivers.engine.phase import Change
from mgmt_drivers.machine import files, packages
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host


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
