"""The series of Kubernetes before the newest one, on machines of the Debian before."""

from functional.nodes_scenario import NodesScenario
from mgmt_drivers.params.series import SUPPORTED
from tools.client.config import CONFIG


class SeriesBefore(NodesScenario):
    kubernetes_version = list(SUPPORTED)[-2]
    image = CONFIG.older_image

    def test_series_before(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        self.scale_out_and_in(vnf)
        self.heal_workers(vnf, 1)
        self.heal_dead_leader(vnf)
        self.heal_vnf(vnf)
        self.check_terminate(vnf)
