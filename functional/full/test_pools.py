"""Two pools of workers: each is scaled and healed alone, and keeps what its nodes have."""

from typing import Any

from functional import shared
from functional.cluster_scenario import MASTER, WORKER
from functional.pools_scenario import POOL, PoolsScenario
from functional.upgrade_scenario import BEFORE, NEWEST, UpgradeScenario, configured
from mgmt_drivers.cluster.series import SUPPORTED
from tools.client import vim_rights
from tools.client.api import V2

_TWO_BEFORE = list(SUPPORTED)[-3]


class PoolsThroughV2(PoolsScenario, UpgradeScenario):
    """A dry run predicts each operation; an upgrade by two series keeps kubelet's configuration."""

    api = V2()
    kubernetes_version = _TWO_BEFORE

    def test_pools(self) -> None:
        vnf = self.instantiate_pools()
        self.check_versions(_TWO_BEFORE)
        self.scale_each_pool(vnf, WORKER, POOL)
        self.heal_one_of_each(vnf, WORKER, POOL)
        self.change_label(vnf, "edge")
        self.check_pools(vnf, workers=2, pooled=1, label="edge")
        master = self.machines(vnf)[MASTER][0]
        vim_rights.bind_to_all(master)
        self.assert_completed(self.modify(vnf))
        self.assertFalse(vim_rights.may(master, "delete", "nodes"))
        self.check_versions(NEWEST)
        self.check_pools(vnf, workers=2, pooled=1, label="edge")
        self.check_terminate(vnf)

    def wanted(self) -> dict[str, Any]:
        """The upgrade needs packages and images of the series in between, too."""
        wanted = super().wanted()
        with configured(BEFORE):
            shared.private_registry()
        url = wanted["package_repository"]["url"]
        wanted["package_repository"]["url"] = url.replace(f"/{NEWEST}/", "/{series}/")
        return wanted


class PoolsThroughV1(PoolsScenario):
    """Tacker's v1 API scales the group that has the name of the pool's aspect."""

    def test_pools(self) -> None:
        vnf = self.instantiate_pools()
        self.scale_each_pool(vnf, POOL)
        self.heal_one_of_each(vnf, POOL)
        self.change_label(vnf, "edge")
        self.check_pools(vnf, workers=2, pooled=1, label="edge")
        self.check_terminate(vnf)
