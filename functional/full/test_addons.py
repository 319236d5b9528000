"""Add-ons: metrics, network policies, and volumes on demand, over the life of a cluster."""

import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kubernetes.utils import parse_quantity

from functional import charts, policies, shared
from functional.cluster_scenario import MASTER
from functional.kubernetes import KUBECTL
from functional.storage_scenario import StorageScenario
from functional.upgrade_scenario import NAME, NEWEST, UpgradeScenario
from tools.client import wait
from tools.client.api import V2
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote

_OVERLAY = Path(__file__).parents[1] / "overlays" / "addons"
_FOLDER = "Files/kubernetes/addons"
_METRICS, _POLICIES, _STORAGE = "metrics-server", "network-policies", "nfs-storage"
_WEB = {
    "name": "web", "namespace": "default", "chart_path": charts.CHART,
    "values_path": f"{_FOLDER}/web-values.yaml",
}
# The chart's image is in no registry but that of the cluster's images.
_VALUES = "image: charts.example/library/busybox:1\nreplicas: {}\n"
_MORE = f"{_FOLDER}/more-web-values.yaml"
_LARGEST_AGENT = 100  # MiB of memory that the agent of network policies takes on a node
_EXPORT = "/volume/nfs/claims"
_METADATA = "169.254.169.254"
_CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}
"""


class Addons(UpgradeScenario, StorageScenario):
    """A control-plane node, two workers and a storage server, whose export the nodes mount."""

    api = V2()
    image = CONFIG.prepared_image

    def setUp(self) -> None:
        super().setUp()
        if not CONFIG.kubernetes_mirror:
            self.skipTest("the images of add-ons are those of the embedded cloud's mirror")

    def storage_request(self, flavour: str, **changes: Any) -> dict[str, Any]:
        request = super().storage_request(flavour, **changes)
        params = request["additionalParams"]["k8s_cluster_installation_param"]
        exports = params["storage_server"]["nfs_server_setup_params"]
        exports.append({**exports[0], "export_dir": _EXPORT})
        params["addons"] = [*listed((_METRICS, _POLICIES)), _WEB, *listed((_STORAGE,))]
        params["helm"] = {"archive_path": charts.HELM_ARCHIVE}
        return request

    def test_addons(self) -> None:
        self.registry = shared.private_registry()
        overlays = [f"storage{self.api.variant}", str(_OVERLAY)]
        changed = self.write_changed()
        files = {f"{_FOLDER}/changed.yaml": changed, **charts.helm_archive(), **charts.chart()}
        files |= {_WEB["values_path"]: self.write_values(2), _MORE: self.write_values(3)}
        vnf = self.create_vnf(self.onboard_package(files, overlays))
        self.assert_completed(vnf.instantiate(self.storage_request("simple")))
        self.look_at(vnf)
        self.start_pods()
        self.check_all(vnf)
        with step("another manifest of an add-on, and other values of a chart"):
            web = {**_WEB, "values_path": _MORE}
            addons = [*listed((_METRICS,), "changed"), web, *listed((_POLICIES, _STORAGE))]
            self.assert_completed(self.modify_addons(vnf, addons))
            words = "deployment metrics-server --namespace kube-system --output json"
            found = json.loads(self.kubectl(f"get {words}"))
            args = found["spec"]["template"]["spec"]["containers"][0]["args"]
            self.assertIn("--metric-resolution=20s", args)
            self.check_all(vnf, web_servers=3)
        with step("add-ons that leave"):
            self.assert_completed(self.modify_addons(vnf, listed((_POLICIES, _STORAGE))))
            self.assertEqual(["", ""], [self.objects_of(_METRICS), self.objects_of("web")])
            self.assertNotEqual("", self.objects_of(_POLICIES))
        with step("an upgrade"):
            self.assert_completed(self.modify(vnf))
            self.check_versions(NEWEST)
            self.start_pods()  # nobody replaces pods without a controller that were evicted
            policies.check(self.master)
            self.check_claim(vnf)
        with step("a heal of the whole"):
            self.kubectl("delete pod,persistentvolumeclaim --all")
            self.assert_completed(vnf.heal({}))
            self.look_at(vnf)
            self.start_pods()
            policies.check(self.master)
            self.check_claim(vnf)
        self.kubectl("delete pod,persistentvolumeclaim --all")
        self.check_terminate(vnf)

    def write_changed(self) -> Path:
        text = (_OVERLAY / _FOLDER / f"{_METRICS}.yaml").read_text()
        path = Path(self.enter(tempfile.TemporaryDirectory()), "changed.yaml")
        path.write_text(text.replace("resolution=15s", "resolution=20s"))
        return path

    def write_values(self, replicas: int) -> Path:
        path = Path(self.enter(tempfile.TemporaryDirectory()), "values.yaml")
        path.write_text(_VALUES.format(replicas))
        return path

    def look_at(self, vnf: Vnf) -> None:
        self.cluster = self.check_cluster(vnf, self.registry, masters=1, workers=2)
        self.master: Remote = self.machines(vnf)[MASTER][0]

    def modify_addons(self, vnf: Vnf, addons: Sequence[dict[str, str]]) -> dict[str, Any]:
        return vnf.modify({"metadata": {NAME: json.dumps({"addons": addons})}})

    def kubectl(self, words: str) -> str:
        return self.master.run(f"{KUBECTL} {words}")

    def objects_of(self, addon: str) -> str:
        kinds = "deployments,daemonsets,services,apiservices,clusterroles,clusterrolebindings"
        label = f"tacker-mgmt-drivers/addon={addon}"
        words = f"get {kinds} --all-namespaces --selector {label} --output name"
        return self.kubectl(words).strip()

    def start_pods(self) -> None:
        policies.start_pods(self.master, f"{self.registry}/busybox:1")
        self.kubectl(f"apply --filename - <<'END'\n{_CLAIM}END")

    def check_all(self, vnf: Vnf, web_servers: int = 2) -> None:
        self.check_metrics()
        self.check_chart(web_servers)
        policies.check(self.master)
        self.check_claim(vnf)
        self.check_metadata()
        self.check_agents()  # which have judged connections by now

    def check_metrics(self) -> None:
        words = "get --raw /apis/metrics.k8s.io/v1beta1/nodes || true"
        seen = wait.until(
            lambda: self.kubectl(words), lambda text: text.count('"cpu"') == 3, 120,
            "metrics of three nodes",
        )
        log(f"metrics of nodes: {seen}")

    def check_agents(self) -> None:
        """The agents of network policies take little memory on each node."""
        path = "/apis/metrics.k8s.io/v1beta1/namespaces/kube-system/pods"
        words = f"get --raw '{path}?labelSelector=app%3Dkube-network-policies' || true"
        seen = wait.until(
            lambda: re.findall('"memory":"([0-9]+[A-Za-z]*)"', self.kubectl(words)),
            lambda found: len(found) == 3, 120, "metrics of three agents",
        )
        taken = [round(parse_quantity(memory) / (1 << 20), 1) for memory in seen]
        log(f"memory of the agents of network policies, in MiB: {[*map(str, taken)]}")
        self.assertLess(max(taken), _LARGEST_AGENT)

    def check_chart(self, replicas: int) -> None:
        """The objects of the chart, with an image of the cluster's own repository."""
        found = json.loads(self.kubectl("get deployment cnf-web-web --output json"))
        self.assertEqual(replicas, found["status"]["readyReplicas"])
        (container,) = found["spec"]["template"]["spec"]["containers"]
        self.assertEqual(f"{self.registry}/busybox:1", container["image"])
        self.assertEqual("deployment.apps/cnf-web-web", self.objects_of("web"))

    def check_claim(self, vnf: Vnf) -> None:
        """A claim of no volume in particular is bound, to a folder of the export."""
        path = "'{.status.phase}'"
        words = f"get persistentvolumeclaim data --output jsonpath={path}"
        wait.until(lambda: self.kubectl(words), lambda seen: seen == "Bound", 60, "the claim")
        _, server = self.storage_server(vnf)
        self.assertIn("default-data-", server.run(f"ls {_EXPORT}"))

    def check_metadata(self) -> None:
        self.assertEqual("", policies.fetch(self.master, "friend", _METADATA))


def listed(names: Sequence[str], file: str = "") -> list[dict[str, str]]:
    """The parameter ``addons``; the file has another name than the add-on if one is given."""
    return [{"name": n, "manifest_path": f"{_FOLDER}/{file or n}.yaml"} for n in names]
