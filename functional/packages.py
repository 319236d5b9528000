"""Files and overlays that scenarios add to the VNF packages, and packages of their own."""

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from functional import kubernetes
from tools.client.config import CONFIG
from tools.client.packages import SOURCES, build_csar

HERE = Path(__file__).parent
CNF_MANIFEST = "Files/kubernetes/deployment.yaml"


def floating_ip_templates(flavour: str) -> dict[str, Path]:
    """The package's templates of a flavour, with a floating IP ``<VDU>_fip`` on each machine."""

    def add(resources: dict[str, Any], vdu: str) -> None:
        (port,) = (name for name in resources if name.startswith(f"{vdu}_CP"))
        resources[f"{vdu}_fip"] = {
            "type": "OS::Neutron::FloatingIP",
            "properties": {
                "floating_network": CONFIG.external_network,
                "port_id": {"get_resource": port},
            },
        }

    return _changed_templates(flavour, "floating", add)


def user_data_templates(flavour: str, user_data: str) -> dict[str, Path]:
    """The package's templates of a flavour, in which each machine has user data."""

    def add(resources: dict[str, Any], vdu: str) -> None:
        properties = {"user_data": user_data, "user_data_format": "RAW"}
        resources[vdu]["properties"] |= properties

    return _changed_templates(flavour, "user-data", add)


def _changed_templates(
    flavour: str, kind: str, change: Callable[[dict[str, Any], str], None]
) -> dict[str, Path]:
    """The nested templates of a flavour, whose resources are changed, by their paths."""
    made = {}
    for role, vdu in (("master", "masterNode"), ("worker", "workerNode")):
        name = f"BaseHOT/{flavour}/nested/{flavour}_nested_{role}.yaml"
        template = yaml.safe_load((SOURCES / "kubernetes" / name).read_text())
        template["heat_template_version"] = str(template["heat_template_version"])
        change(template["resources"], vdu)
        CONFIG.build.mkdir(parents=True, exist_ok=True)
        path = CONFIG.build / f"{kind}-{flavour}-{role}.yaml"
        path.write_text(yaml.safe_dump(template))
        made[name] = path
    return made


def isolated_templates(csar: Path, prefixes: Sequence[str]) -> dict[str, Path]:
    """The templates of a built package, whose security groups let packets leave for prefixes."""
    made = {}
    with zipfile.ZipFile(csar) as archive:
        for name in (n for n in archive.namelist() if n.startswith("BaseHOT/")):
            template = yaml.safe_load(archive.read(name)) if name.endswith(".yaml") else {}
            if isolate(template.get("resources", {}), prefixes):
                template["heat_template_version"] = str(template["heat_template_version"])
                path = CONFIG.build / f"{csar.stem}-{name.replace('/', '-')}"
                path.write_text(yaml.safe_dump(template))
                made[name] = path
    return made


def isolate(resources: Mapping[str, Any], prefixes: Sequence[str]) -> int:
    """Let packets leave for IPv4 prefixes only; returns how many security groups were changed."""
    kind = "OS::Neutron::SecurityGroup"
    groups = [resource for resource in resources.values() if resource["type"] == kind]
    for group in groups:
        # Heat removes Neutron's own rule, which lets all out, if there is another.
        group["properties"]["rules"] += [
            {"direction": "egress", "remote_ip_prefix": prefix} for prefix in prefixes
        ]
    return len(groups)


def tosca_csar(name: str, image: Path, data: Mapping[str, Any], files: Mapping[str, Path]) -> Path:
    """A CSAR of a package with a VNFD alone, whose machines run an image of the package.

    :param data: ``sw_image_data`` of the image
    """
    source, vnfd = HERE / "tosca_packages" / name, f"Definitions/{name}_df_simple.yaml"
    nodes = yaml.safe_load((source / vnfd).read_text())["topology_template"]["node_templates"]
    described = {"properties": {"sw_image_data": dict(data)}}
    vdus = [key for key, node in nodes.items() if "sw_image_data" in node["properties"]]
    overlay = CONFIG.build / str(data["name"])
    (overlay / "Definitions").mkdir(parents=True, exist_ok=True)
    changes = {"topology_template": {"node_templates": dict.fromkeys(vdus, described)}}
    (overlay / vnfd).write_text(json.dumps(changes))
    return build_csar(source, {**files, "Files/images/node.img": image}, [str(overlay)])


def cnf_csar(image: str) -> Path:
    """A CSAR of web servers as pods of ``image``, for the Kubernetes VIM."""
    manifest = CONFIG.build / "cnf.yaml"
    manifest.write_text(json.dumps(kubernetes.deployment("cnf-web", image, replicas=2)))
    return build_csar(HERE / "cnf_package", {CNF_MANIFEST: manifest})
