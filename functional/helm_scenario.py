"""The base of scenarios with CNFs that Tacker deploys by Helm charts."""

from collections.abc import Mapping
from typing import Any

from functional.charts import CHART, chart_csar
from functional.cluster_scenario import MASTER, ClusterScenario
from tools.client.lcm import Vnf
from tools.client.log import log

_RELEASE = "web"
ASPECT = "pods"


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
        """Parameters of the CNF, as the version of the API takes them."""
        if self.api.version == "2":
            return {
                "namespace": "default",
                "helm_chart_path": CHART,
                "helm_value_names": {"VDU1": {"replica": "replicas"}},
                "helm_parameters": {"image": image},
            }
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
            "helm_replica_values": {ASPECT: "replicas"},
            "vdu_mapping": {
                "VDU1": {"kind": "Deployment", "name": name, "helmreleasename": _RELEASE}
            },
        }

    def show_releases(self, vnf: Vnf) -> str:
        """Helm's list on the first control-plane node, for the user that Tacker logs in as."""
        seen = self.machines(vnf)[MASTER][0].run("helm list --all-namespaces")
        log(seen)
        return seen
