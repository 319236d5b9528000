"""A cluster whose machines reach nothing but their own network: all comes from bundles."""

import json
import tempfile
from pathlib import Path
from typing import Any

from functional import credentials
from functional.backup_scenario import BackupScenario
from functional.charts import HELM_ARCHIVE, helm_archive
from functional.cluster_scenario import MASTER
from functional.helm_scenario import HelmScenario
from functional.registry_scenario import PORT, REQUEST
from functional.requests import ask_for_address
from functional.site import Site, site
from functional.storage_scenario import StorageScenario
from functional.upgrade_scenario import BEFORE, NEWEST, newest_series
from mgmt_drivers.cluster.cluster_params import NAME as INSTALLATION
from mgmt_drivers.cluster.modification import NAME as MODIFICATION
from mgmt_drivers.cluster.packages.repository_params import CA_FILE, KEY_FILE
from mgmt_drivers.package import sha256_of
from mgmt_drivers.registry.registry_params import MODIFICATION as REGISTRY_MODIFICATION
from tools.client import bundles, networks, wait
from tools.client.api import V2
from tools.client.bundles import Bundle
from tools.client.config import CONFIG, tacker
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step
from tools.client.names import unique
from tools.client.packages import kubernetes_csar, private_registry_csar
from tools.client.requests import load_request

_BUNDLE = "Files/bundles/first.tar"
_OVERLAYS = ["storage_v2"]
# The networks of pods and Services, as the request has them.
_OWN = ("192.168.0.0/16", "10.199.187.0/24")


class Offline(HelmScenario, BackupScenario, StorageScenario):
    """Three masters, two workers and a storage server live on a site without internet.

    Helm comes with the package. The cluster uses the v2 API, which keeps the volumes of a VNF whose
    machines are all lost; the registry uses v1, which does not copy its bundle for each call.
    """

    api = V2()
    kubernetes_version = BEFORE
    helm = {"archive_path": HELM_ARCHIVE}
    address: str  # of the registry
    site: Site

    def test_offline(self) -> None:
        if not CONFIG.refused_packets:
            self.skipTest("nobody counts refused packets, see FUNCTIONAL_REFUSED_PACKETS")
        first = bundles.make()
        with newest_series():
            second = bundles.make()
        self.site = self.enter(site(self.cloud, _OWN))
        self.site.prove()
        registry, ca = self.instantiate_registry(first)
        vnf = self.instantiate_cluster(first.key, ca)
        self.check_chart(vnf)
        self.scale_and_heal(vnf)
        self.upgrade(vnf, registry, second)
        self.restore(vnf)
        self.heal_registry(vnf, registry)
        self.assertEqual([], self.site.wrong)
        self.check_terminate(vnf)

    def instantiate_registry(self, bundle: Bundle) -> tuple[Vnf, Path]:
        """Instantiate the registry with a bundle; returns the CA of its certificate, too."""
        self.address = networks.free_address(self.cloud, CONFIG.network)
        self.registry = f"{self.address}:{PORT}/kubernetes"
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        certificate, key, text = credentials.write_certificate(folder, self.address)
        ca = folder / "ca.crt"
        ca.write_text(text)
        files = {"Files/tls.crt": certificate, "Files/tls.key": key}
        files |= self.site.templates(private_registry_csar(files))
        client = tacker(self.cloud)
        package = Package(client, private_registry_csar({**files, _BUNDLE: bundle.path}))
        self.addCleanup(package.delete)
        vnf = Vnf.create(client, package, unique("registry"))
        self.vnfs.append(vnf)
        self.addCleanup(vnf.remove)
        request = load_request(
            REQUEST, client, bundles=[{"path": _BUNDLE}],
            tls_certificate_path="Files/tls.crt", tls_key_path="Files/tls.key",
        )
        ask_for_address(request, self.address)
        self.assert_completed(vnf.instantiate(request))
        self.site.read("the registry's instantiation")
        return vnf, ca

    def instantiate_cluster(self, key: Path, ca: Path) -> Vnf:
        files = {KEY_FILE: key, CA_FILE: ca, **helm_archive()}
        files |= self.site.templates(kubernetes_csar(files, _OVERLAYS, self.api.variant))
        vnf = self.create_vnf(self.onboard_package(files, _OVERLAYS))
        request = self.storage_request("complex")
        request["additionalParams"][INSTALLATION]["etcd_backup"] = {"interval": "30m", "keep": 3}
        self.assert_completed(vnf.instantiate(request))
        self.cluster = self.check_cluster(vnf, self.registry, masters=3, workers=2)
        self.check_volumes_available()
        self.cluster.claim_volume("data")
        self.create_notes(with_volume=False)
        self.notes()
        self.site.read("the instantiation")
        return vnf

    def request(
        self, flavour: str, registry: str, network: str | None = None, **params: Any
    ) -> dict[str, Any]:
        """The request names the registry alone."""
        sources = {"image_repository": None, "package_repository": None}
        named = {**sources, "offline_registry": self.address, **params}
        return super().request(flavour, registry, network, **named)

    def check_chart(self, vnf: Vnf) -> None:
        if not CONFIG.helm_on_tacker:
            log("Tacker's host has no Helm: no chart is deployed")
            return
        cnf = self.deploy_chart(vnf)
        self.assertIn("webserver-0.1.0", self.show_releases(vnf))
        self.remove_cnf(cnf)
        cnf.delete()
        self.site.read("a chart")

    def scale_and_heal(self, vnf: Vnf) -> None:
        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.check_nodes(workers=3)
        self.site.read("the scale-out")
        (vnfc, _), *_ = self.vnfcs(vnf, MASTER)
        self.assert_completed(vnf.heal({"vnfcInstanceId": [vnfc]}))
        self.check_nodes(workers=3)
        self.site.read("the heal of a control-plane node")

    def upgrade(self, vnf: Vnf, registry: Vnf, bundle: Bundle) -> None:
        """Give the registry a second bundle, which the site serves, and upgrade the cluster."""
        source = {"url": self.site.serve(bundle.path), "sha256": sha256_of(bundle.path)}
        wanted = json.dumps({"bundles": [source]})
        self.assert_completed(registry.modify({"metadata": {REGISTRY_MODIFICATION: wanted}}))
        wanted = json.dumps({"kubernetes_version": NEWEST})
        self.assert_completed(vnf.modify({"metadata": {MODIFICATION: wanted}}))
        self.check_nodes(workers=3)
        self.check_versions(NEWEST)
        self.notes()
        self.site.read("the upgrade")

    def restore(self, vnf: Vnf) -> None:
        """Lose all machines, and have the objects again, from the newest backup."""
        nodes, volumes = self.cluster.node_names(), self.cluster.volumes()
        self.assertIn("Bound", self.volume_phases().values())
        name = self.save_backup(self.machines(vnf)[MASTER][0])
        self.delete_servers(vnf)
        with step(f"restore {name}"):
            self.assert_completed(vnf.heal({"additionalParams": {"restore_from": "latest"}}))
            self.cluster = self.check_cluster(vnf, self.registry, masters=3, workers=3)
        for pod in self.notes():
            self.assertEqual("kept", self.in_pod(vnf, pod, "cat /words/word"))
        self.assertEqual(set(), nodes & self.cluster.node_names())
        self.assertEqual(volumes, self.cluster.volumes())
        self.check_versions(NEWEST)
        self.site.read("the restore")

    def heal_registry(self, vnf: Vnf, registry: Vnf) -> None:
        """The new registry has its address and both bundles, and a new worker all that it needs."""
        self.assert_completed(registry.heal({"cause": "a heal of the whole VNF"}))
        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.check_nodes(workers=4)
        self.check_versions(NEWEST)
        for _, master in self.vnfcs(vnf, MASTER):
            log(master.run("helm version --short && helm list"))
        self.site.read("the heal of the registry, and another scale-out")

    def check_nodes(self, workers: int) -> None:
        wanted = 3 + workers
        nodes = self.cluster.ready_nodes
        wait.until(nodes, lambda ready: len(ready) == wanted, 60, f"{wanted} nodes")
        self.assertEqual(wanted, len(self.cluster.node_names()))
