"""CNFs that Tacker deploys by Helm charts, through both versions of its API."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from functional import shared
from functional.charts import HELM_ARCHIVE, helm_archive
from functional.cluster_scenario import MASTER
from functional.helm_scenario import ASPECT, HelmScenario
from functional.nodes_scenario import NodesScenario
from tools.client.api import V2
from tools.client.config import CONFIG
from tools.client.lcm import Package, Vnf


class HelmThroughV2(HelmScenario):
    """Through the v2 API, which runs Helm on Tacker's host; nodes have that of a repository."""

    api = V2()

    def test_chart(self) -> None:
        if not CONFIG.helm_on_tacker:
            self.skipTest("Tacker's host has no Helm, see FUNCTIONAL_HELM_ON_TACKER")
        self.registry = shared.private_registry()
        vnf = self.create_vnf(self.onboard_package())
        self.assert_completed(vnf.instantiate(self.request("simple", self.registry)))
        self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        cnf = self.deploy_chart(vnf)
        self.assertIn("webserver-0.1.0", self.show_releases(vnf))
        self.remove_cnf(cnf)
        self.assertNotIn("webserver", self.show_releases(vnf))
        cnf.delete()
        self.check_terminate(vnf)


class HelmThroughV1(HelmScenario, NodesScenario):
    """With Helm from the VNF package.

    A control-plane node that is healed gets Helm, too, and the charts of CNFs that are there.
    """

    helm = {"archive_path": HELM_ARCHIVE}
    image = CONFIG.prepared_image

    def onboard_package(
        self, files: Mapping[str, Path] | None = None, overlays: Sequence[str] = ()
    ) -> Package:
        return super().onboard_package({**(files or {}), **helm_archive()}, overlays)

    def test_chart_and_heal(self) -> None:
        vnf = self.instantiate_balanced_cluster()
        self.check_extra(vnf)
        cnf = self.deploy_chart(vnf)
        vnfc, _ = self.vnfcs(vnf, MASTER)[0]
        self.heal(vnf, [vnfc])
        self.check_balanced_cluster(vnf, workers=2)
        self.check_extra(vnf)
        healed = dict(self.vnfcs(vnf, MASTER))[vnfc]
        self.assertIn("webserver-0.1.0", healed.run("helm list"))
        self.assertIn(cnf.id, healed.run("ls /var/tacker/helm"))
        # Tacker does so with the chart on the first of the nodes.
        self.assert_completed(cnf.scale("SCALE_IN", ASPECT, 1))
        self.await_pods_of_cnf(1)
        self.remove_cnf(cnf)
        self.assertNotIn("webserver", self.show_releases(vnf))
        self.assertNotIn(cnf.id, self.machines(vnf)[MASTER][0].run("ls /var/tacker/helm"))
        cnf.delete()
        self.check_terminate(vnf, self.check_cnf(vnf))  # manifests go on to work

    def check_extra(self, vnf: Vnf) -> None:
        """Tacker knows what it needs to run Helm."""
        extra = self.tacker.show_vim(self.vim(vnf).id)["vim"]["extra"]
        self.assertTrue(extra["use_helm"])
        info = extra["helm_info"]
        masters = {machine.address for _, machine in self.vnfcs(vnf, MASTER)}
        self.assertEqual(masters, set(info["masternode_ip"]))
        login = info["masternode_username"], info["masternode_password"]
        self.assertEqual((CONFIG.username, CONFIG.password), login)
