"""Two pools of workers: each is scaled and healed alone, and keeps what its nodes have."""

from typing import Any

from functional import faults, shared
from functional.cluster_scenario import MASTER, WORKER
from functional.dry_run import DryRunVnf
from functional.pools_scenario import POOL, PoolsScenario
from functional.upgrade_scenario import BEFORE, NEWEST, UpgradeScenario, configured
from mgmt_drivers.cluster.series import SUPPORTED
from tools.client import vim_rights
from tools.client.api import V2
from tools.client.lcm import Vnf
from tools.client.machines import Remote

_TWO_BEFORE = list(SUPPORTED)[-3]
SECOND_SERIES = ("upgrade the cluster", "fails", f"kubeadm upgrade apply v{NEWEST}")
FIRST_SERIES = ("fails", f"KUBERNETES_VERSION={BEFORE}.*install_k8s_cluster")


class PoolsThroughV2(PoolsScenario, UpgradeScenario):
    """A dry run predicts each operation; an upgrade by two series goes on after a fault."""

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
        self.upgrade_with_fault(vnf, master)
        self.assertFalse(vim_rights.may(master, "delete", "nodes"))
        self.check_versions(NEWEST)
        self.check_pools(vnf, workers=2, pooled=1, label="edge")
        self.check_terminate(vnf)

    def upgrade_with_fault(self, vnf: Vnf, master: Remote) -> None:
        """The second series fails; the retry goes on there, and installs nothing of the first."""
        phase, *fault = SECOND_SERIES
        faults.prepare(master)
        with faults.injected([master], *fault):
            failed = self.modify(vnf)
        self.assert_failed(failed, f"phase '{phase}'")
        self.check_versions(BEFORE)
        assert isinstance(vnf, DryRunVnf)
        with faults.injected([master], *FIRST_SERIES):
            self.assert_completed(vnf.retry_modify(failed, self.modification()))

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
