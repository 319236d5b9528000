"""Files and overlays that scenarios add to the VNF packages, and the package of a CNF."""

import json
from collections.abc import Sequence
from pathlib import Path

import yaml

from functional import kubernetes
from tools.client.config import CONFIG
from tools.client.packages import SOURCES, build_csar

HERE = Path(__file__).parent
CNF_MANIFEST = "Files/kubernetes/deployment.yaml"


def image_overlay(image: str, vdus: Sequence[str]) -> str:
    """An overlay whose VDUs have another image."""
    folder = CONFIG.build / f"{'-'.join(vdus)}-{image}"
    (folder / "Definitions").mkdir(parents=True, exist_ok=True)
    nodes = {vdu: {"properties": {"sw_image_data": {"name": image}}} for vdu in vdus}
    for flavour in ("simple", "complex", "podaffinity"):
        path = folder / f"Definitions/kubernetes_df_{flavour}.yaml"
        path.write_text(yaml.safe_dump({"topology_template": {"node_templates": nodes}}))
    return str(folder)


def floating_ip_templates(flavour: str) -> dict[str, Path]:
    """The package's templates of a flavour, with a floating IP ``<VDU>_fip`` on each machine."""
    made = {}
    for role, vdu, port in (
        ("master", "masterNode", "masterNode_CP1"), ("worker", "workerNode", "workerNode_CP2")
    ):
        name = f"BaseHOT/{flavour}/nested/{flavour}_nested_{role}.yaml"
        template = yaml.safe_load((SOURCES / "kubernetes" / name).read_text())
        template["heat_template_version"] = str(template["heat_template_version"])
        template["resources"][f"{vdu}_fip"] = {
            "type": "OS::Neutron::FloatingIP",
            "properties": {
                "floating_network": CONFIG.external_network,
                "port_id": {"get_resource": port},
            },
        }
        CONFIG.build.mkdir(parents=True, exist_ok=True)
        path = CONFIG.build / f"floating-{flavour}-{role}.yaml"
        path.write_text(yaml.safe_dump(template))
        made[name] = path
    return made


def cnf_csar(image: str) -> Path:
    """A CSAR of web servers as pods of ``image``, for the Kubernetes VIM."""
    manifest = CONFIG.build / "cnf.yaml"
    manifest.write_text(json.dumps(kubernetes.deployment("cnf-web", image, replicas=2)))
    return build_csar(HERE / "cnf_package", {CNF_MANIFEST: manifest})
