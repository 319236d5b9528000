"""Machines tell Prometheus their health."""

from collections.abc import Mapping, Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.monitoring import monitoring
from mgmt_drivers.engine.phase import Change
from mgmt_drivers.machine import packages, units
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host

_LIMIT = 60.0  # seconds until the exporter tells the first values


class ConfigureMonitoring(Change[Cluster, Mapping[str, Sequence[File]]]):
    """Let a machine tell Prometheus its health, and check that the machine does."""

    title = "configure monitoring"

    def look(self, host: Host, cluster: Cluster) -> Mapping[str, Sequence[File]] | None:
        expected = monitoring.units_of(host, cluster)
        is_done = all(units.is_as_configured(host, *unit) for unit in expected.items())
        return None if is_done and host.ask(*monitoring.asking_exporter(cluster)).ok else expected

    def act(self, host: Host, cluster: Cluster, change: Mapping[str, Sequence[File]]) -> None:
        packages.install(host, [monitoring.PACKAGE])  # unless the machine came with monitoring
        for unit, expected in change.items():
            units.configure(host, unit, expected)
        what = (
            f"the health of the machine on port {monitoring.port(cluster)}. If another program "
            "has the port, instantiate the cluster, or modify it, with another `monitoring.port`; "
            f"`journalctl --unit {monitoring.EXPORTER} --unit {monitoring.SERVICE}` on the machine "
            "tells more"
        )
        host.ask_until_ok(*monitoring.asking_exporter(cluster), within=_LIMIT, what=what)
