"""A cluster whose machines reach nothing but their own network: all comes from bundles."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from functional import credentials
from functional.cluster_scenario import MASTER
from functional.nodes_scenario import NodesScenario
from functional.packages import isolated_templates
from functional.registry_scenario import PORT, REQUEST, ask_for_address
from functional.upgrade_scenario import BEFORE, NEWEST, newest_series
from mgmt_drivers.cluster.modification import NAME as MODIFICATION
from mgmt_drivers.cluster.packages.repository_params import CA_FILE, KEY_FILE
from mgmt_drivers.registry.registry_params import MODIFICATION as REGISTRY_MODIFICATION
from tools.client import bundles, networks
from tools.client.bundles import Bundle
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.packages import private_registry_csar
from tools.client.requests import load_request

_FIRST, _SECOND = "Files/bundles/first.tar", "Files/bundles/second.tar"


class Offline(NodesScenario):
    """Three masters and two workers are instantiated, scaled, healed, and upgraded."""

    kubernetes_version = BEFORE

    def test_offline(self) -> None:
        first = bundles.make()
        with newest_series():
            second = bundles.make()
        address = networks.free_address(self.cloud, CONFIG.network)
        registry, ca = self.instantiate_registry(address, first, second)
        self.registry = f"{address}:{PORT}/kubernetes"
        vnf = self.instantiate_cluster(address, first.key, ca)
        self.check_isolation(vnf)

        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.check_nodes(vnf, workers=3)
        (vnfc, _), *_ = self.vnfcs(vnf, MASTER)
        self.heal(vnf, [vnfc])
        self.check_nodes(vnf, workers=3)

        wanted = json.dumps({"bundles": [{"path": _SECOND}]})
        self.assert_completed(registry.modify({"metadata": {REGISTRY_MODIFICATION: wanted}}))
        wanted = json.dumps({"kubernetes_version": NEWEST})
        self.assert_completed(vnf.modify({"metadata": {MODIFICATION: wanted}}))
        versions = {v.rpartition(".")[0] for v in self.cluster.kubelet_versions().values()}
        self.assertEqual({f"v{NEWEST}"}, versions)

        # The new machine has both bundles.
        (vnfc,) = (each["id"] for each in registry.vnfcs())
        self.assert_completed(registry.heal({"vnfcInstanceId": [vnfc]}))
        self.assert_completed(vnf.scale("SCALE_OUT", "worker_instance", 1))
        self.check_nodes(vnf, workers=4)
        self.check_isolation(vnf)

    def instantiate_registry(
        self, address: str, first: Bundle, second: Bundle
    ) -> tuple[Vnf, Path]:
        """Instantiate the registry with the first bundle; returns the CA of its certificate."""
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        certificate, key, text = credentials.write_certificate(folder, address)
        (folder / "ca.crt").write_text(text)
        files = {
            "Files/tls.crt": certificate, "Files/tls.key": key, _FIRST: first.path,
            _SECOND: second.path, **self.isolated("private_registry", "simple"),
        }
        vnf = self.create_vnf(self.onboard_csar(private_registry_csar(files)))
        request = load_request(
            REQUEST, self.tacker, bundles=[{"path": _FIRST}],
            tls_certificate_path="Files/tls.crt", tls_key_path="Files/tls.key",
        )
        ask_for_address(request, address)
        self.assert_completed(vnf.instantiate(request))
        return vnf, folder / "ca.crt"

    def instantiate_cluster(self, address: str, key: Path, ca: Path) -> Vnf:
        files = {KEY_FILE: key, CA_FILE: ca, **self.isolated("kubernetes", "complex")}
        vnf = self.create_vnf(self.onboard_package(files))
        sources: dict[str, Any] = {"image_repository": None, "package_repository": None}
        request = self.request("complex", self.registry, **sources, offline_registry=address)
        self.assert_completed(vnf.instantiate(request))
        self.check_nodes(vnf, workers=2)
        return vnf

    def isolated(self, package: str, flavour: str) -> Mapping[str, Path]:
        return isolated_templates(package, flavour, networks.cidr(self.cloud, CONFIG.network))

    def check_nodes(self, vnf: Vnf, workers: int) -> None:
        self.cluster = self.check_cluster(vnf, self.registry, masters=3, workers=workers)

    def check_isolation(self, vnf: Vnf) -> None:
        """No machine reaches the internet, or the mirror of Kubernetes."""
        for machine in (m for group in self.machines(vnf).values() for m in group):
            with step(f"see that {machine.address} is without internet"):
                self.assertEqual("", reach(machine, "deb.debian.org", 80))
                self.assertEqual("", reach(machine, "1.1.1.1", 443))


def reach(machine: Remote, host: str, port: int) -> str:
    """Try to connect from a machine; returns ``reached`` or nothing."""
    command = f"timeout 3 bash -c 'exec 3<>/dev/tcp/{host}/{port} && echo reached' 2>/dev/null"
    seen = machine.run(command, check=False).strip()
    log(f"{machine.address} to {host}:{port}: {seen or 'nothing'}")
    return seen
