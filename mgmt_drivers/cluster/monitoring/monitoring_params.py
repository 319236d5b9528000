"""The parameter ``monitoring``: machines tell Prometheus their health."""

from dataclasses import dataclass

from mgmt_drivers.params.declaration import ObjectOf, param
from mgmt_drivers.params.kinds import Port
from mgmt_drivers.params.reader import Reader

NAME = "monitoring"
_LOWEST = 1024  # the exporter does not run as root
# NFS, etcd, the API, kubelet, kube-proxy, the controller manager, the scheduler, the load balancer.
_TAKEN = (2049, 2379, 2380, 2381, 6443, *range(10248, 10260), 16443, *range(30000, 32768))


@dataclass(frozen=True)
class Monitoring:
    """Monitoring of machines by Prometheus, which asks the exporter on ``port``."""

    port: int = param(
        "port", Port(), default=9100, example=9200,
        meaning="TCP port of ``prometheus-node-exporter`` on each machine, from 1024 on; the "
        "security groups of the VNF packages let 9100 in",
    )


def _check_port(monitoring: Monitoring, reader: Reader) -> Monitoring:
    if monitoring.port < _LOWEST and not reader.errors.messages:
        reader.at("port").refuse(f"must be {_LOWEST} or higher: the exporter does not run as root")
    if monitoring.port in _TAKEN:
        reader.at("port").refuse(f"nodes need {monitoring.port} themselves; choose another port")
    return monitoring


MONITORING = ObjectOf(Monitoring, _check_port)
