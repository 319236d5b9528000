"""CNFs that Tacker deploys by Helm charts, through both versions of its API."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from functional import shared
from functional.charts import CHART, HELM_ARCHIVE, chart_csar, helm_archive
from functional.cluster_scenario import MASTER, ClusterScenario
from functional.nodes_scenario import NodesScenario
from tools.client.api import V2
from tools.client.config import CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log

_RELEASE = "web"
_ASPECT = "pods"


class HelmScenario(ClusterScenario):
    """Clusters whose control-plane nodes have Helm."""

    helm: Mapping[str, str] = {}

    def request(
        self, flavour: str, registry: str, network: str | None = None, **params: Any
    ) -> dict[str, Any]:
        return super().request(flavour, registry, network, **{"helm": self.helm, **params})

    def deploy_chart(self, vnf: Vnf) -> Vnf:
        """Let Tacker deploy the pods of a CNF by its chart; returns the CNF."""
        params = self.params_of_chart(f"{self.registry}/busybox:1")
        cnf = self.deploy_cnf(vnf, chart_csar(), params)
        self.show_releases(vnf)
        return cnf

    def params_of_chart(self, image: str) -> dict[str, Any]:
        """Parameters of the CNF, as the v1 API takes them."""
        name = f"cnf-web-{_RELEASE}"
        installed = {
            "exthelmchart": "false",
            "helmchartfile_path": CHART,
            "helmreleasename": _RELEASE,
            "helmparameter": [f"image={image}"],
        }
        return {
            "namespace": "default",
            "use_helm": "true",
            "using_helm_install_param": [installed],
            "helm_replica_values": {_ASPECT: "replicas"},
            "vdu_mapping": {
                "VDU1": {"kind": "Deployment", "name": name, "helmreleasename": _RELEASE}
            },
        }

    def show_releases(self, vnf: Vnf) -> str:
        """What Helm lists on the first control-plane node for the user that Tacker logs in as."""
        seen = self.machines(vnf)[MASTER][0].run("helm list --all-namespaces")
        log(seen)
        return seen


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

    def params_of_chart(self, image: str) -> dict[str, Any]:
        return {
            "namespace": "default",
            "helm_chart_path": CHART,
            "helm_value_names": {"VDU1": {"replica": "replicas"}},
            "helm_parameters": {"image": image},
        }


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
        self.assert_completed(cnf.scale("SCALE_IN", _ASPECT, 1))
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
