"""UserData of all packages, run with Tacker's own code; Heat takes what comes of it."""

import copy
import importlib
import importlib.util
import json
import tempfile
import unittest
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import yaml

from tools.client.api import V2
from tools.csar import build, check_basehot, check_heat
from tools.csar import package as model
from tools.csar.check_policies import Policies
from tools.csar.package import Flavour, Package
from tools.csar.tests.genuine import needs_openstack

REQUESTS = build.PACKAGES.parent / "functional/requests"
CLUSTERS = (("simple", ""), ("complex", ""), ("podaffinity", ""), ("complex", "storage"),
            ("simple", "pools"))  # fmt: skip
_MORE = {"storage": "storage_server", "pools": "workerNode2"}  # VDU of an overlay
# Parameters of a registry, and the first and the last port that clients are let in to.
_PORTS: tuple[tuple[dict[str, Any], int, int], ...] = (
    ({}, 5000, 5000), ({"port_no": 5001}, 5001, 5001), ({"port_no": "5002"}, 5002, 5002),
    ({"port_no": None, "bundles": None}, 5000, 5000),
    ({"port_no": "6000", "bundles": [{"path": "1.37.tar"}]}, 6000, 6001),
)
SSH_PREFIX = "ssh_remote_ip_prefix"
PREFIXES = {SSH_PREFIX: "192.0.2.0/24", "api_remote_ip_prefix": "10.0.0.0/8"}
ANTI_AFFINITY = "master_anti_affinity"
POOL_GROUP = ("worker2_hosts", "workerNode2")
POOL_APART = {"worker2_anti_affinity": "anti-affinity"}
ADDRESS, SUBNET = "192.0.2.5", "b3f0c7a2-4a38-47d8-9b5c-71e5a8f2d0c4"
NETWORK = "0f1c6a7e-6a70-4b8c-9d53-3f9d6a2f7a11"


def at(nfv: Any, path: Sequence[Any]) -> Any:
    """What a template takes from nfv by a path."""
    for key in path[1:]:
        nfv = (nfv or {}).get(key)
    return nfv


def made(text: str, files: dict[str, str], parameters: dict[str, Any]) -> dict[str, list[Any]]:
    """The properties that Heat gives to resources, of nested stacks too, by their names."""
    found = defaultdict(list)
    for name, resource in _resources(check_heat.stack(text, files, parameters)):
        found[name].append(resource.properties)
    return found


def _resources(stack: Any) -> Iterator[tuple[str, Any]]:
    for name, resource in stack.items():
        if hasattr(resource, "child_template"):
            template, parameters = resource.child_template(), resource.child_params()
            yield from _resources(resource._parse_nested_stack("nested", template, parameters))
        else:
            yield name, resource


def fixed_ips(ports: list[Any]) -> list[tuple[str | None, str | None]]:
    """Subnets and addresses that ports ask Neutron for."""
    return [(ip["subnet"], ip["ip_address"]) for port in ports for ip in port["fixed_ips"]]


def with_addresses(request: dict[str, Any], cp: str, *wanted: dict[str, Any]) -> None:
    """Put ipAddresses of a CP into a request, as a link of its own if the request has none."""
    addresses = [{"type": "IPV4", **address} for address in wanted]
    config = {"cpProtocolData": [
        {"layerProtocol": "IP_OVER_ETHERNET", "ipOverEthernet": {"ipAddresses": addresses}}
    ]}
    links = request["extVirtualLinks"]
    for link in links:
        link["extCps"] = [point for point in link["extCps"] if point["cpdId"] != cp]
    point = {"cpdId": cp, "cpConfig": [config]}
    links.append({"id": cp, "resourceId": NETWORK, "extCps": [point]})


def _text(template: dict[str, Any]) -> str:
    version = str(template["heat_template_version"])
    return yaml.safe_dump({**template, "heat_template_version": version})


class UserDataTest(unittest.TestCase):
    def assemble(self, name: str, flavour: str, overlay: str = "") -> None:
        """Write the package as Tacker unpacks its CSAR."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        overlays = [build.OVERLAYS / overlay] if overlay else []
        self.package = Package(build.assemble(build.PACKAGES / name, overlays=overlays))
        for file, source in self.package.contents.items():
            path = self.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(source.read_bytes())
        found = [known for known in self.package.flavours if known.id == flavour]
        self.flavour: Flavour = found[0]
        (self.top,) = check_basehot.top_templates(self.package, self.flavour)
        self.nested = check_heat.nested(self.package, self.top)

    def module(self) -> ModuleType:
        (path,) = (self.folder / "UserData").glob("*.py")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def request(self, file: str, **params: Any) -> dict[str, Any]:
        request: dict[str, Any] = json.loads((REQUESTS / file).read_text())
        for link in request["extVirtualLinks"]:
            link["resourceId"] = NETWORK
        for driver_params in request["additionalParams"].values():
            if isinstance(driver_params, dict):
                driver_params.update(params)
        return request

    def cluster_request(self, flavour: str, overlay: str) -> dict[str, Any]:
        return self.request(f"kubernetes/{flavour}{overlay and f'_{overlay}'}.json")

    def vdus(self) -> dict[str, Any]:
        return self.flavour.nodes_of(model.VDU)

    def assert_apart(
        self, found: dict[str, list[Any]], policy: str, number: int,
        group: str = "master_hosts", vdu: str = "masterNode",
    ) -> None:
        """Nova gets the group, of one policy, with each server. Only a cloud gives it an id."""
        self.assertEqual([[policy]], [group["policies"] for group in found[group]])
        hints = [server["scheduler_hints"] for server in found[vdu]]
        self.assertEqual([["group"]] * number, [list(hint or {}) for hint in hints])

    def assert_accepted(self, text: str, parameters: dict[str, Any]) -> None:
        self.assertEqual("", check_heat.refusal(text, self.nested, parameters))


@needs_openstack
class V1Test(UserDataTest):
    def instantiate(self, request: dict[str, Any]) -> dict[str, Any]:
        from tacker import objects
        from tacker.common import utils

        objects.register_all()
        data = utils.convert_camelcase_to_snakecase(request)
        asked = objects.InstantiateVnfRequest.obj_from_primitive(data, None)
        hots = {name: yaml.safe_load(text) for name, text in self.nested.items()}
        hots["heat_template"] = self.package.documents[self.top]
        user_data = getattr(self.module(), request["additionalParams"][
            "lcm-operation-user-data-class"])
        parameters: dict[str, Any] = user_data.instantiate(hots, self.flavour.document, asked, {})
        for path in check_basehot.nfv_paths(self.package, self.flavour):
            empty = (None,) if path[-1] == "zone" else (None, "")
            self.assertNotIn(at(parameters["nfv"], path), empty, path)
        self.assert_accepted((self.folder / self.top).read_text(), parameters)
        return parameters

    def test_clusters(self) -> None:
        for flavour, overlay in CLUSTERS:
            with self.subTest(flavour=flavour, overlay=overlay):
                self.assemble("kubernetes", flavour, overlay)
                nfv = self.instantiate(self.cluster_request(flavour, overlay))["nfv"]
                self.assertEqual("k8s.master", nfv["VDU"]["masterNode"]["flavor"])
                self.assertEqual(NETWORK, nfv["CP"]["workerNode_CP2"]["network"])

    def test_points_without_a_link_lie_in_the_network_of_the_masters(self) -> None:
        """As with the specification's request for a cluster that leaves the storage server out."""
        self.assemble("kubernetes", "complex", "storage")
        request = self.cluster_request("complex", "")
        self.assertNotIn("storage_server_CP", str(request))
        points = self.instantiate(request)["nfv"]["CP"]
        self.assertEqual(NETWORK, points["storage_server_CP"]["network"])
        del request["extVirtualLinks"]
        with self.assertRaisesRegex(ValueError, 'extVirtualLinks .* "masterNode_CP1"'):
            self.instantiate(request)

    def test_the_zone_of_a_grant(self) -> None:
        for name, flavour, overlay in (
            ("kubernetes", "complex", "storage"), ("kubernetes", "simple", ""),
            ("private_registry", "simple", ""),
        ):
            with self.subTest(name, flavour=flavour):
                self.assemble(name, flavour, overlay)
                file = "private_registry/instantiate.json"
                is_cluster = name == "kubernetes"
                request = self.cluster_request(flavour, overlay) if is_cluster else (
                    self.request(file))
                machines = self.made(request)
                for vdu in self.vdus():
                    zones = {machine["availability_zone"] or "" for machine in machines[vdu]}
                    self.assertEqual({""}, zones, vdu)  # Nova's choice
                parameters = self.instantiate(request)
                top, nested = self.granted(parameters, "zone2")
                for given in (parameters, self.healed(parameters)):
                    machines = made(top, nested, given)
                    for vdu in self.vdus():
                        zones = {machine["availability_zone"] for machine in machines[vdu]}
                        self.assertEqual({"zone2"}, zones, vdu)

    def granted(self, parameters: dict[str, Any], zone: str) -> tuple[str, dict[str, str]]:
        """Tacker changes templates and parameters by a grant with a zone for all machines."""
        from tacker import objects
        from tacker.tosca import utils
        from tacker.vnfm.infra_drivers.openstack.openstack import OpenStack

        added = [{"resource_definition_id": vdu, "zone_id": "zone"} for vdu in self.vdus()]
        ids = dict.fromkeys(("id", "vnf_instance_id", "vnf_lcm_op_occ_id"), "any")
        grant = objects.Grant.obj_from_primitive(
            {**ids, "zones": [{"id": "zone", "zone_id": zone}], "add_resources": added}, None
        )
        vnfcs = [objects.VnfcResourceInfo(id=vdu, vdu_id=vdu) for vdu in self.vdus()]
        instance = mock.Mock(instantiated_vnf_info=mock.Mock(vnfc_resource_info=vnfcs))
        top = copy.deepcopy(self.package.documents[self.top])
        is_scaled = "AutoScalingGroup" in str(top)
        names = {"attributes": {"scaling_group_names": "any"}}
        groups = utils.get_scale_group(names, self.flavour.document, {}) if is_scaled else {}
        top, nested, _ = OpenStack.__new__(OpenStack)._setup_hot_for_grant_resources(
            {"grant": grant}, instance, top,
            {name: yaml.safe_load(text) for name, text in self.nested.items()}, parameters, groups,
        )
        return _text(top), {name: _text(document) for name, document in nested.items()}

    def healed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Tacker's parameters of the stack in a heal of VNFCs, made of those of the instantiation.

        Another zone, or none, would let Heat replace all machines of a VDU.
        """
        from tacker.vnflcm import utils

        vnfcs = [mock.Mock(id=vdu, vdu_id=vdu) for vdu in self.vdus()]
        info = mock.Mock(vnfc_resource_info=vnfcs, flavour_id="any")
        vnfd = {"attributes": {"vnfd_any": yaml.safe_dump(self.flavour.document)}}
        vnf = {"vnfd_id": "", "vnfd": vnfd, "attributes": {"stack_param": str(parameters)}}
        nested = {name: yaml.safe_load(text) for name, text in self.nested.items()}
        hots = self.package.documents[self.top], nested
        with mock.patch.object(utils, "get_base_nest_hot_dict", return_value=hots):
            wanted = mock.Mock(vnfc_instance_id=list(self.vdus()))
            found: dict[str, Any] = utils.get_stack_param(None, vnf, wanted, info)
        return found

    def test_fixed_addresses(self) -> None:
        self.assemble("kubernetes", "complex", "storage")
        request = self.cluster_request("complex", "storage")
        with_addresses(request, "masterNode_CP1", {"subnetId": SUBNET})
        with_addresses(request, "vip_CP", {"fixedAddresses": [ADDRESS], "subnetId": SUBNET})
        with_addresses(request, "storage_server_CP", {"fixedAddresses": [ADDRESS]})
        ports = self.made(request)
        for cp, wanted in (
            ("masterNode_CP1", [(SUBNET, None)] * 3), ("workerNode_CP2", []),
            ("vip_CP", [(SUBNET, ADDRESS)]), ("storage_server_CP", [(None, ADDRESS)]),
        ):
            self.assertEqual(wanted, fixed_ips(ports[cp]), cp)
        for cp in ("masterNode_CP1", "workerNode_CP2"):
            request = self.cluster_request("complex", "storage")
            with_addresses(request, cp, {"fixedAddresses": [ADDRESS]})
            with self.assertRaisesRegex(ValueError, f'extVirtualLinks: the extCp "{cp}" has fixed'):
                self.instantiate(request)

    def test_the_fixed_address_of_a_single_master(self) -> None:
        self.assemble("kubernetes", "simple")
        request = self.cluster_request("simple", "")
        with_addresses(request, "masterNode_CP1", {"fixedAddresses": [ADDRESS]})
        self.assertEqual([(None, ADDRESS)], fixed_ips(self.made(request)["masterNode_CP1"]))

    def test_the_virtual_ip_is_in_the_subnets_of_the_masters(self) -> None:
        self.assemble("kubernetes", "complex")
        request = self.cluster_request("complex", "")
        with_addresses(request, "masterNode_CP1", {"subnetId": SUBNET})
        self.assertEqual([(SUBNET, None)], fixed_ips(self.made(request)["vip_CP"]))

    def made(self, request: dict[str, Any]) -> dict[str, list[Any]]:
        parameters = self.instantiate(request)
        return made((self.folder / self.top).read_text(), self.nested, parameters)

    def test_groups_scale_by_the_steps_of_the_vnfd(self) -> None:
        for flavour in ("simple", "complex", "podaffinity"):
            self.assemble("kubernetes", flavour)
            found = Policies.of(self.flavour)
            resources = self.package.documents[self.top]["resources"]
            for aspect, limits in found.aspects.items():
                group = resources.get(aspect, {}).get("properties")
                if group is None:
                    continue
                with self.subTest(flavour=flavour, aspect=aspect):
                    vdu = "masterNode" if aspect.startswith("master") else "workerNode"
                    steps = found.by_name[f"{vdu}_scaling_aspect_deltas"]["properties"]["deltas"]
                    (step,) = (delta["number_of_instances"] for delta in steps.values())
                    first = found.by_name[f"{vdu}_initial_delta"]["properties"]["initial_delta"]
                    most = first["number_of_instances"] + step * limits["max_scale_level"]
                    for kind, adjustment in (("out", step), ("in", -step)):
                        policy = resources[f"{aspect}_scale_{kind}"]["properties"]
                        self.assertEqual(adjustment, policy["scaling_adjustment"])
                    self.assertLessEqual(group["min_size"], first["number_of_instances"])
                    self.assertEqual(group["max_size"], most)
                    profile = self.flavour.nodes[vdu]["properties"]["vdu_profile"]
                    self.assertLessEqual(most, profile["max_number_of_instances"])

    def test_a_scale_keeps_all_parameters_but_the_size(self) -> None:
        from tacker import objects

        self.assemble("kubernetes", "complex")
        before = self.instantiate(self.cluster_request("complex", ""))
        objects.register_all()
        asked = objects.ScaleVnfRequest(aspect_id="worker_instance", number_of_steps=1)
        after = self.module().KubernetesClusterUserData.scale({}, {}, asked, None, None, before, 5)
        self.assertEqual({**before, "worker_instance_desired_capacity": 5}, after)
        self.assert_accepted((self.folder / self.top).read_text(), after)

    def test_registry(self) -> None:
        self.assemble("private_registry", "simple")
        for params, port, last in _PORTS:
            file = "private_registry/instantiate.json"
            nfv = self.instantiate(self.request(file, **params))["nfv"]
            self.assertEqual((port, last), (nfv["registry_port"], nfv["registry_last_port"]))


    def test_prefixes(self) -> None:
        for name, flavour, overlay, taken in (
            ("kubernetes", "complex", "storage", PREFIXES.keys()),
            ("private_registry", "simple", "", {SSH_PREFIX}),
        ):
            self.assemble(name, flavour, overlay)
            file = "private_registry/instantiate.json"
            request = self.cluster_request(flavour, overlay) if overlay else self.request(file)
            request["additionalParams"].update(PREFIXES)
            parameters = self.instantiate(request)
            self.assertEqual({"nfv", *taken}, parameters.keys())
            text = (self.folder / self.top).read_text()
            for wrong in ("everybody", "10.0.0.0/33", "10.10.0.5; 0.0.0.0/0"):
                given = {**parameters, SSH_PREFIX: wrong}
                self.assertIn(SSH_PREFIX, check_heat.refusal(text, self.nested, given))

    def test_hosts_of_masters(self) -> None:
        """The policy holds in later operations; a change of the package changes no stack."""
        from tacker import objects

        self.assemble("kubernetes", "complex", "storage")
        request = self.cluster_request("complex", "storage")
        text = (self.folder / self.top).read_text()
        machines = self.made(request)
        self.assert_apart(machines, "soft-anti-affinity", 3)
        request["additionalParams"][ANTI_AFFINITY] = "anti-affinity"
        parameters = self.instantiate(request)
        given = {**parameters, ANTI_AFFINITY: "affinity"}
        self.assertIn(ANTI_AFFINITY, check_heat.refusal(text, self.nested, given))

        asked = objects.ScaleVnfRequest(aspect_id="master_instance", number_of_steps=1)
        scale = self.module().KubernetesClusterUserData.scale
        scaled = scale({}, {}, asked, None, None, parameters, 5)
        kept = {**request, "additionalParams": self.kept_for_heal_of_the_whole(request)}
        for masters, given in (
            (3, parameters), (5, scaled), (3, self.healed(parameters)), (3, self.instantiate(kept)),
        ):
            self.assert_apart(made(text, self.nested, given), "anti-affinity", masters)

    def test_hosts_of_a_pool(self) -> None:
        self.assemble("kubernetes", "complex", "pools")
        request = self.cluster_request("simple", "pools")
        for policy, params in (("soft-anti-affinity", {}), ("anti-affinity", POOL_APART)):
            request["additionalParams"].update(params)
            parameters = {**self.instantiate(request), "worker2_instance_desired_capacity": 2}
            found = made((self.folder / self.top).read_text(), self.nested, parameters)
            self.assert_apart(found, policy, 2, *POOL_GROUP)
            self.assert_apart(found, "soft-anti-affinity", 3)

    def kept_for_heal_of_the_whole(self, request: dict[str, Any]) -> dict[str, Any]:
        """Of Tacker's request for the new stack, the parameters, which UserData reads."""
        from tacker import objects

        info = mock.Mock(
            ext_managed_virtual_link_info=[], ext_virtual_link_info=[], flavour_id="any",
            instantiation_level_id="any", additional_params=request["additionalParams"],
        )
        instance = mock.Mock(instantiated_vnf_info=info, vim_connection_info=[])
        asked = objects.InstantiateVnfRequest.from_vnf_instance(instance)
        found: dict[str, Any] = asked.additional_params
        return found


class Heat:
    """Tacker's client of Heat, for one stack: its ``template``, ``files`` and ``parameters``."""

    def __init__(self, stack: dict[str, Any]) -> None:
        self.stack = stack

    def get_status(self, _: str) -> tuple[str, str]:
        return "UPDATE_COMPLETE", ""

    def get_stack_id(self, _: str) -> str:
        return "id"

    def get_template(self, _: str) -> dict[str, Any]:
        return copy.deepcopy(self.stack["template"])

    def get_files(self, _: str) -> dict[str, str]:
        return dict(self.stack["files"])

    def get_parameters(self, _: str) -> dict[str, Any]:
        parameters = self.stack["parameters"]
        return {**parameters, "nfv": json.dumps(parameters["nfv"])}

    def delete_stack(self, _: str) -> None:
        self.stack = {}

    def create_stack(self, fields: dict[str, Any]) -> str:
        template = fields["template"]
        parsed = yaml.safe_load(template) if isinstance(template, str) else template
        self.stack = {**fields, "template": parsed}
        return "id"

    def update_stack(self, _: str, fields: dict[str, Any]) -> None:
        if not fields.pop("existing", True):
            self.create_stack(fields)
            return
        parameters = {**self.stack["parameters"], **fields.pop("parameters", {})}
        self.create_stack({**self.stack, **fields, "parameters": parameters})


@needs_openstack
class V2Test(UserDataTest):
    """Tacker keeps the parameter nfv and the template, into which it merges what it gets."""

    def setUp(self) -> None:
        self.instance: dict[str, Any] = {"vnfdId": "vnfd"}
        self.stack: dict[str, Any] = {}
        self.grant: dict[str, Any] = {}

    def call(self, operation: str, request: dict[str, Any], **grant: Any) -> None:
        from tacker.sol_refactored.common import vnf_instance_utils

        method = getattr(self.module().StandardUserData, operation)
        fields = method(request, self.instance, grant, self.grant, str(self.folder))
        self.stack["files"] = {**self.stack.get("files", {}), **fields.get("files", {})}
        template = yaml.safe_load(fields.get("template", "{}"))
        merge = vnf_instance_utils.json_merge_patch
        self.stack["template"] = merge(self.stack.get("template"), template)
        given = fields.get("parameters", {})
        nfv = merge(self.parameters().get("nfv"), given.get("nfv", {}))
        # Heat keeps the parameters that an update does not name.
        self.stack["parameters"] = {**self.parameters(), **given, "nfv": nfv}
        # And files (EngineService._prepare_stack_updates).
        self.nested |= fields.get("files", {})
        self.assert_accepted(yaml.safe_dump(self.stack["template"]), self.parameters())

    def parameters(self) -> dict[str, Any]:
        found: dict[str, Any] = self.stack.get("parameters", {})
        return found

    def instantiate(self, request: dict[str, Any], *vdus: str) -> dict[str, Any]:
        """Instantiate with a VNFC for each name of a VDU; returns nfv."""
        asked = V2().instantiation(request)
        self.call("instantiate", asked, addResources=[self.compute(vdu) for vdu in vdus])
        links = [
            {"resourceHandle": {"resourceId": link["resourceId"]},
             "currentVnfExtCpData": link["extCps"]}
            for link in asked["extVirtualLinks"]
        ]
        vnfcs = [
            {"vduId": vdu, "computeResource": {"resourceId": f"server-{number}"},
             "metadata": {"vdu_idx": vdus[:number].count(vdu)}}
            for number, vdu in enumerate(vdus)
        ]
        self.instance["instantiatedVnfInfo"] = {
            "flavourId": self.flavour.id, "extVirtualLinkInfo": links, "vnfcResourceInfo": vnfcs,
            "metadata": {"nfv": self.parameters()["nfv"]},
        }
        nfv: dict[str, Any] = self.parameters()["nfv"]
        return nfv

    def compute(self, vdu: str, **more: Any) -> dict[str, Any]:
        return {"id": f"new-{vdu}", "type": "COMPUTE", "resourceTemplateId": vdu, **more}

    def test_clusters(self) -> None:
        for flavour, overlay in CLUSTERS:
            with self.subTest(flavour=flavour, overlay=overlay):
                self.setUp()
                self.assemble("kubernetes_v2", flavour, overlay and f"{overlay}_v2")
                vdus = ["masterNode"] * (1 if flavour == "simple" else 3) + ["workerNode"] * 2
                vdus += [_MORE[overlay]] if overlay else []
                nfv = self.instantiate(self.cluster_request(flavour, overlay), *vdus)
                self.assertEqual("k8s.worker", nfv["VDU"]["workerNode-1"]["computeFlavourId"])
                self.check_later_operations()

    def test_points_without_a_link_lie_in_the_network_of_the_masters(self) -> None:
        self.assemble("kubernetes_v2", "complex", "storage_v2")
        vdus = ["masterNode"] * 3 + ["workerNode"] * 2 + ["storage_server"]
        nfv = self.instantiate(self.cluster_request("complex", ""), *vdus)
        self.assertEqual(NETWORK, nfv["CP"]["storage_server_CP-0"]["network"])
        self.check_later_operations()

    def test_a_scale_out_after_a_change_to_a_package_with_other_templates(self) -> None:
        """New machines are made from the later package's templates; all else stays as it was."""
        self.assemble("kubernetes_v2", "complex")
        request = self.cluster_request("complex", "")
        self.instantiate(request, *["masterNode"] * 3, "workerNode")
        others = copy.deepcopy(self.stack["template"])
        top = self.folder / self.top
        worker = top.parent / "nested/complex_nested_worker.yaml"
        for file, old, new in (
            (worker, "parameters:", "parameters:\n  label: { type: string }"),
            (worker, "zone }", "zone }\n      name: { get_param: label }"),
            (top, "[ nfv, VDU, workerNode, locationConstraints ] }",
             "[ nfv, VDU, workerNode, locationConstraints ] }\n"
             "      label: { get_param: [ nfv, VDU, workerNode, vcImageId ] }"),
            (top, "policies: [ { get_param: master_anti_affinity } ]", "policies: [ affinity ]"),
            (top, "default: 0.0.0.0/0", "default: 192.0.2.0/24"),
        ):
            self.assertIn(old, file.read_text())
            file.write_text(file.read_text().replace(old, new))
        added = [self.compute("workerNode")]
        self.call("scale", {"type": "SCALE_OUT"}, addResources=added)
        labels = [worker["name"] for worker in self.made()["workerNode"]]
        self.assertCountEqual([False, True], [bool(label) for label in labels])
        del self.stack["template"]["resources"]["workerNode-1"]
        self.assertEqual(others, self.stack["template"])
        self.call("scale", {"type": "SCALE_OUT"}, addResources=added)  # as a retry does

    def test_the_zones_of_a_grant(self) -> None:
        """Each VNFC has its own."""
        self.assemble("kubernetes_v2", "simple", "storage_v2")
        zones = {"masterNode": "zone1", "workerNode": "zone2", "storage_server": "zone1"}
        self.grant = {
            "zones": [{"id": zone, "zoneId": zone} for zone in ("zone1", "zone2")],
            "addResources": [
                {"resourceDefinitionId": f"new-{vdu}", "zoneId": zone}
                for vdu, zone in zones.items()
            ],
        }
        self.instantiate(self.cluster_request("simple", ""), *zones)
        for vdu, zone in zones.items():
            (machine,) = self.made()[vdu]
            self.assertEqual(zone, machine["availability_zone"], vdu)
        self.call("scale", {"type": "SCALE_OUT"}, addResources=[self.compute("workerNode")])
        workers = self.made()["workerNode"]
        self.assertEqual(["zone2"] * 2, [worker["availability_zone"] for worker in workers])

    def test_the_zone_of_the_registry(self) -> None:
        self.assemble("private_registry_v2", "simple")
        vdu, file = "PrivateRegistryVDU", "private_registry/instantiate.json"
        self.instantiate(self.request(file), vdu)
        self.assertEqual("", self.made()[vdu][0]["availability_zone"])
        self.setUp()
        self.grant = {
            "zones": [{"id": "zone", "zoneId": "zone2"}],
            "addResources": [{"resourceDefinitionId": f"new-{vdu}", "zoneId": "zone"}],
        }
        self.instantiate(self.request(file), vdu)
        self.assertEqual("zone2", self.made()[vdu][0]["availability_zone"])

    def test_fixed_addresses(self) -> None:
        self.assemble("kubernetes_v2", "complex", "storage_v2")
        vdus = ["masterNode"] * 3 + ["workerNode"] * 2 + ["storage_server"]
        request = self.cluster_request("complex", "storage")
        with_addresses(request, "workerNode_CP2", {"subnetId": SUBNET})
        with_addresses(request, "vip_CP", {"fixedAddresses": [ADDRESS], "subnetId": SUBNET})
        with_addresses(request, "storage_server_CP", {"fixedAddresses": [ADDRESS]})
        self.instantiate(request, *vdus)
        for workers in (2, 3):
            ports = self.made()
            for cp, wanted in (
                ("masterNode_CP1", []), ("workerNode_CP2", [(SUBNET, None)] * workers),
                ("vip_CP", [(SUBNET, ADDRESS)]), ("storage_server_CP", [(None, ADDRESS)]),
            ):
                self.assertEqual(wanted, fixed_ips(ports[cp]), cp)
            added = self.compute("workerNode")
            self.call("scale", {"type": "SCALE_OUT"}, addResources=[added])
        self.setUp()
        with_addresses(request, "workerNode_CP2", {"fixedAddresses": [ADDRESS]})
        with self.assertRaisesRegex(ValueError, 'the extCp "workerNode_CP2" has fixedAddresses'):
            self.instantiate(request, *vdus)

    def test_the_fixed_address_of_a_single_master(self) -> None:
        """Workers that come later do not take that of the first."""
        self.assemble("kubernetes_v2", "simple")
        request = self.cluster_request("simple", "")
        for cp, address in (("masterNode_CP1", ADDRESS), ("workerNode_CP2", "192.0.2.6")):
            with_addresses(request, cp, {"fixedAddresses": [address]})
        self.instantiate(request, "masterNode", "workerNode")
        self.call("scale", {"type": "SCALE_OUT"}, addResources=[self.compute("workerNode")])
        ports = self.made()
        self.assertEqual([(None, ADDRESS)], fixed_ips(ports["masterNode_CP1"]))
        self.assertEqual([(None, "192.0.2.6")], fixed_ips(ports["workerNode_CP2"]))

    def test_the_virtual_ip_is_in_the_subnets_of_the_masters(self) -> None:
        self.assemble("kubernetes_v2", "complex")
        request = self.cluster_request("complex", "")
        with_addresses(request, "masterNode_CP1", {"subnetId": SUBNET})
        self.instantiate(request, *["masterNode"] * 3, "workerNode")
        self.assertEqual([(SUBNET, None)], fixed_ips(self.made()["vip_CP"]))

    def test_the_fixed_address_of_the_registry(self) -> None:
        self.assemble("private_registry_v2", "simple")
        request = self.request("private_registry/instantiate.json")
        with_addresses(request, "CP1", {"fixedAddresses": [ADDRESS]})
        self.instantiate(request, "PrivateRegistryVDU")
        self.assertEqual([(None, ADDRESS)], fixed_ips(self.made()["CP1"]))

    def made(self) -> dict[str, list[Any]]:
        top = yaml.safe_dump(self.stack["template"])
        return made(top, self.stack["files"], self.parameters())

    def test_parameters_of_the_template(self) -> None:
        self.assemble("kubernetes_v2", "complex", "storage_v2")
        request = self.cluster_request("complex", "storage")
        declared = {**PREFIXES, ANTI_AFFINITY: "anti-affinity"}
        request["additionalParams"].update({**declared, "nfv": {}, "unknown": "1"})
        vdus = ("masterNode", "masterNode", "masterNode", "workerNode", "workerNode")
        self.instantiate(request, *vdus, "storage_server")
        self.check_later_operations()
        self.assertEqual({"nfv", *declared}, self.parameters().keys())
        self.assertLessEqual(declared.items(), self.parameters().items())

    def test_hosts_of_a_pool(self) -> None:
        self.assemble("kubernetes_v2", "simple", "pools_v2")
        request = self.cluster_request("simple", "pools")
        request["additionalParams"].update(POOL_APART)
        self.instantiate(request, "masterNode", "workerNode", "workerNode2")
        self.assert_apart(self.made(), "anti-affinity", 1, *POOL_GROUP)
        self.call("scale", {"type": "SCALE_OUT"}, addResources=[self.compute("workerNode2")])
        self.assert_apart(self.made(), "anti-affinity", 2, *POOL_GROUP)

    def test_hosts_of_masters(self) -> None:
        self.assemble("kubernetes_v2", "podaffinity")
        request = self.cluster_request("podaffinity", "")
        vdus = ["masterNode"] * 3 + ["workerNode"]
        self.instantiate(request, *vdus)
        self.assert_apart(self.made(), "soft-anti-affinity", 3)
        self.setUp()
        request["additionalParams"][ANTI_AFFINITY] = "anti-affinity"
        self.instantiate(request, *vdus)
        self.assert_apart(self.made(), "anti-affinity", 3)
        added = [self.compute("masterNode")] * 2
        self.call("scale", {"type": "SCALE_OUT"}, addResources=added)
        self.assert_apart(self.made(), "anti-affinity", 5)
        (master, *_) = self.instance["instantiatedVnfInfo"]["vnfcResourceInfo"]
        removed = self.compute("masterNode", resource=master["computeResource"])
        self.call("heal", {}, removeResources=[removed])
        self.assert_apart(self.made(), "anti-affinity", 5)
        self.let_tacker("heal", {"all": True}, removeResources=[])
        self.assert_apart(self.made(), "anti-affinity", 5)
        # Tacker's own UserData would replace the template and the files, from which Tacker's
        # driver removes scheduler hints because of Nova's bug 2139275.
        self.let_tacker("change_vnfpkg", {"upgrade_type": "RollingUpdate"}, dstVnfdId="vnfd")
        self.assert_apart(self.made(), "anti-affinity", 5)

    def let_tacker(self, operation: str, params: dict[str, Any], **grant: Any) -> None:
        """Let Tacker's driver of OpenStack change or replace the stack by what UserData says."""
        from tacker.sol_refactored.infra_drivers.openstack import openstack, userdata_default

        request = {"additionalParams": params}
        user_data = userdata_default.DefaultUserData
        if operation != "heal":  # the one request that names no UserData
            user_data = self.module().StandardUserData
        method = getattr(user_data, operation)
        fields = method(request, self.instance, grant, self.grant, str(self.folder))
        asked = mock.Mock(**request, obj_attr_is_set=request.__contains__)
        granted = mock.Mock(**grant, obj_attr_is_set=grant.__contains__)
        info = mock.Mock(vnfcResourceInfo=[], metadata={"stack_id": "id"})
        heat = Heat(self.stack)
        driver = openstack.Openstack()
        with (
            mock.patch.object(driver, "_make_hot", return_value=fields),
            mock.patch.object(driver, "_make_instantiated_vnf_info"),
            mock.patch.object(openstack.inst_utils, "select_vim_info"),
            mock.patch.object(openstack.heat_utils, "HeatClient", return_value=heat),
        ):
            instance = mock.Mock(id="id", instantiatedVnfInfo=info)
            occurrence = [mock.Mock()] if operation.endswith("_rollback") else []
            getattr(driver, operation)(
                asked, instance, granted, mock.Mock(), mock.Mock(), *occurrence
            )
        self.stack = heat.stack
        self.assert_accepted(yaml.safe_dump(self.stack["template"]), self.parameters())

    def test_prefix_of_the_registry(self) -> None:
        self.assemble("private_registry_v2", "simple")
        request = self.request("private_registry/instantiate.json")
        request["additionalParams"].update(PREFIXES)
        self.instantiate(request, "PrivateRegistryVDU")
        self.assertEqual({"nfv", SSH_PREFIX}, self.parameters().keys())
        self.let_tacker("heal", {"all": True}, removeResources=[])
        (group,) = self.made()["registry_group"]
        self.assertEqual(PREFIXES[SSH_PREFIX], group["rules"][0]["remote_ip_prefix"])

    def test_another_package_leaves_the_stack_of_the_registry(self) -> None:
        """A template that replaces the stack's would lose parameters that nfv has not."""
        self.assemble("private_registry_v2", "simple")
        request = self.request("private_registry/instantiate.json")
        request["additionalParams"].update(PREFIXES)
        self.instantiate(request, "PrivateRegistryVDU")
        before = copy.deepcopy(self.stack)
        for operation in ("change_vnfpkg", "change_vnfpkg_rollback"):
            with self.subTest(operation):
                self.let_tacker(operation, {"upgrade_type": "RollingUpdate"}, dstVnfdId="vnfd")
                self.assertEqual(before, self.stack)

    def check_later_operations(self) -> None:
        """Scale and heal of a worker."""
        last = next(vnfc for vnfc in reversed(self.instance["instantiatedVnfInfo"][
            "vnfcResourceInfo"]) if vnfc["vduId"] == "workerNode")
        removed = self.compute("workerNode", resource=last["computeResource"])
        asked: dict[str, Any] = {"additionalParams": {}}
        added = self.compute("workerNode")
        self.call("scale", {**asked, "type": "SCALE_OUT"}, addResources=[added])
        self.assertIn("workerNode-2", self.stack["template"]["resources"])
        self.call("scale_rollback", {**asked, "type": "SCALE_OUT"}, addResources=[added])
        self.assertNotIn("workerNode-2", self.stack["template"]["resources"])
        self.call("heal", asked, removeResources=[removed])
        self.call("scale", {**asked, "type": "SCALE_IN"}, removeResources=[removed])
        self.assertNotIn("workerNode-1", self.stack["template"]["resources"])
        if self.flavour.id != "simple":
            self.check_scale_of_masters()
        before = copy.deepcopy(self.stack)
        for operation in ("change_vnfpkg", "change_vnfpkg_rollback"):
            self.call(operation, asked, dstVnfdId="another")
            self.assertEqual(before, self.stack)

    def check_scale_of_masters(self) -> None:
        """To five; the virtual IP stays where it was, whoever leaves then."""
        asked: dict[str, Any] = {"additionalParams": {}}
        added = [self.compute("masterNode")] * 2
        network = self.stack["template"]["resources"]["vip_CP"]["properties"]["network"]
        self.call("scale", {**asked, "type": "SCALE_OUT"}, addResources=added)
        master = self.stack["template"]["resources"]["masterNode-4"]
        self.assertIn("virtual_ips", master["properties"])
        listed = self.instance["instantiatedVnfInfo"]["vnfcResourceInfo"]
        first = next(vnfc for vnfc in listed if vnfc["vduId"] == "masterNode")
        removed = self.compute("masterNode", resource=first["computeResource"])
        self.call("scale", {**asked, "type": "SCALE_IN"}, removeResources=[removed])
        self.assertNotIn("masterNode-0", self.stack["template"]["resources"])
        after = self.stack["template"]["resources"]["vip_CP"]["properties"]["network"]
        self.assertEqual(network, after)

    def test_registry(self) -> None:
        self.assemble("private_registry_v2", "simple")
        file = "private_registry/instantiate.json"
        for params, port, last in _PORTS:
            self.setUp()
            nfv = self.instantiate(self.request(file, **params), "PrivateRegistryVDU")
            self.assertEqual((port, last), (nfv["registry_port"], nfv["registry_last_port"]))


@needs_openstack
class HeatTest(unittest.TestCase):
    def test_templates_of_all_packages(self) -> None:
        """With what `k8s-vnf package verify` gives them."""
        for name, overlay in (
            ("kubernetes", ""), ("kubernetes", "storage"), ("kubernetes_v2", ""),
            ("kubernetes_v2", "storage_v2"), ("kubernetes", "pools"), ("kubernetes_v2", "pools_v2"),
            ("private_registry", ""), ("private_registry_v2", ""),
        ):
            with self.subTest(name, overlay=overlay):
                overlays = [build.OVERLAYS / overlay] if overlay else []
                package = Package(build.assemble(build.PACKAGES / name, overlays=overlays))
                self.assertEqual([], list(check_heat.templates(package)))

    def test_the_virtual_ips_are_the_addresses_of_their_port(self) -> None:
        """As Heat's own functions give them, of which YAQL's parser is not safe in threads."""
        check_heat.refusal("heat_template_version: 2018-03-02", {}, {})  # sets Heat up
        from heat.engine import attributes
        from heat.engine.hot import functions

        six, four = {"ip_address": "2001:db8::6"}, {"ip_address": "192.0.2.6"}
        for name, resource in (("kubernetes", "master_instance"), ("kubernetes_v2", "masterNode")):
            package = Package(build.assemble(build.PACKAGES / name))
            (top,) = (
                document for file, document in package.documents.items()
                if file.startswith("BaseHOT/complex/") and "vip_CP" in document["resources"]
            )
            self.assertNotIn("yaql", str(package.documents))
            properties = top["resources"][resource]["properties"]
            wanted = properties.get("resource", {}).get("properties", properties)["virtual_ips"]
            removed, attributes_of_port = wanted["filter"]
            for listed in ([six, four], [four], [six], None):
                found = [
                    attributes.select_from_attribute(listed, get["get_attr"][2:])
                    for get in attributes_of_port
                ]
                self.assertEqual(
                    [ip["ip_address"] for ip in listed or []],
                    functions.Filter(None, "filter", [removed, found]).result(),
                )

    def test_what_heat_refuses_is_a_fault(self) -> None:
        contents = build.assemble(build.PACKAGES / "kubernetes")
        top = "BaseHOT/complex/complex_hot_top.yaml"
        master = "BaseHOT/complex/nested/complex_nested_master.yaml"
        worker = "BaseHOT/complex/nested/complex_nested_worker.yaml"
        for name, old, new, words in (
            (top, "change_in_capacity", "change_capacity", '"change_capacity" is not an allowed'),
            (top, "flavor:", "flavour:", "Unknown Property flavour"),
            (top, "{ get_resource: balanced_group }", "{ get_resource: x }", '"x"'),
            (master, "allowed_address_pairs", "allowed_pairs", "Unknown Property allowed_pairs"),
            (worker, "{ get_param: node_group }", "{ get_param: group }", "(group)"),
        ):
            with self.subTest(new):
                text = contents[name].read_bytes().decode()
                self.assertIn(old, text)
                broken = build.contents.InMemory(name, text.replace(old, new).encode())
                found = list(check_heat.templates(Package({**contents, name: broken})))
                self.assertTrue(any(words in fault.text for fault in found), found)
