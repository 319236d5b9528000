"""The base of scenarios in which a cluster of the series before the newest is upgraded."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from functional import kube_bench, shared
from functional.cluster_scenario import MASTER, WORKER
from functional.dry_run import DryRunVnf
from functional.nodes_scenario import NodesScenario
from functional.requests import REQUESTS
from mgmt_drivers.cluster.modification import NAME
from tools.client import kubernetes_source
from tools.client.kubernetes_source import BEFORE, NEWEST, NEWEST_KEY, configured
from tools.client.lcm import Package, Vnf
from tools.client.poll import poll_api

_LONGEST_OUTAGE = 10  # seconds


def newest_series() -> AbstractContextManager[None]:
    return configured(NEWEST)


class UpgradeScenario(NodesScenario):
    """A dry run predicts each operation; the API is polled during an upgrade."""

    kind: type[Vnf] = DryRunVnf
    kubernetes_version = BEFORE

    def onboard_package(
        self, files: Mapping[str, Path] | None = None, overlays: Sequence[str] = ()
    ) -> Package:
        with newest_series():
            key = kubernetes_source.repository_key(NEWEST_KEY)
        return super().onboard_package({**(files or {}), **key}, overlays)

    def wanted(self) -> dict[str, Any]:
        """What the guide's request wants of a cluster, with the sources of this cloud."""
        request = json.loads((REQUESTS / "kubernetes/upgrade.json").read_text())
        wanted = json.loads(request["metadata"][NAME])
        with newest_series():
            shared.private_registry()  # gets the images
        return {**wanted, **kubernetes_source.upgrade_params()}

    def modification(self) -> dict[str, Any]:
        """The request for the upgrade, as the guide's."""
        return {"metadata": {NAME: json.dumps(self.wanted())}}

    def modify(self, vnf: Vnf) -> dict[str, Any]:
        return vnf.modify(self.modification())

    def upgrade(self, vnf: Vnf, ask: Callable[[Vnf], dict[str, Any]], workers: int) -> None:
        with poll_api(self.vim_before.auth_url) as seen:
            self.assert_completed(ask(vnf))
        self.assertLess(seen.answers.longest, _LONGEST_OUTAGE)
        self.assertLess(seen.readiness.longest, _LONGEST_OUTAGE)
        self.assertNotIn(NAME, vnf.show()["metadata"])
        self.check_versions(NEWEST)
        self.check_balanced_cluster(vnf, workers)

    def check_benchmark(self, vnf: Vnf) -> None:
        """Run kube-bench on a node of each kind."""
        (_, master), *_ = self.vnfcs(vnf, MASTER)
        (_, worker), *_ = self.vnfcs(vnf, WORKER)
        kube_bench.check(master, worker)
