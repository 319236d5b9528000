"""What Tacker's monitoring asks for: requests without UserData, run by Tacker's code on a Heat."""

import copy
import json
from collections import Counter
from typing import Any
from unittest import mock

import yaml

from mgmt_drivers import kubernetes_v2
from mgmt_drivers.errors import MgmtDriverError, ParameterError
from mgmt_drivers.tacker.v2 import USER_DATA, Call
from tools.client.api import V2
from tools.csar.tests.genuine import needs_openstack
from tools.csar.tests.genuine.test_user_data import UserDataTest

_OPENSTACK = {
    "vimId": "vim", "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3", "interfaceInfo": {},
    "accessInfo": {"project": "nfv"},
}
_PRODUCT = dict.fromkeys(
    ("vnfProvider", "vnfProductName", "vnfSoftwareVersion", "vnfdVersion"), "any"
)
# The operations behind the hooks, which have tests of their own.
_OPERATIONS = ("scale_in.scale_in", "scale_out.check_scale_out", "scale_out.scale_out",
               "scale_out.begin_roll_back", "scale_out.roll_back_scale_out", "heal.heal_start",
               "heal.heal_end", "heal.check_replaced", "instantiate.validate",
               "instantiate.instantiate")


class FakeHeat:
    """Heat's API as Tacker's client knows it; each machine is a nested stack with a server."""

    def __init__(self) -> None:
        self.template: dict[str, Any] = {}
        self.files: dict[str, str] = {}
        self.parameters: dict[str, Any] = {}
        self.servers: dict[str, str] = {}  # their ids by the names of the nested stacks
        self.changed: list[list[str]] = []  # what each update made or deleted
        self.unhealthy: set[str] = set()
        self.fails = False
        self._made = 0

    def get_stack_id(self, _: str) -> str | None:
        return "top" if self.template else None

    def create_stack(self, fields: dict[str, Any]) -> str:
        self.update_stack("", fields)
        return "top"

    def update_stack(self, _: str, fields: dict[str, Any]) -> None:
        from tacker.sol_refactored.common.exceptions import StackOperationFailed

        given = fields.get("parameters", {})
        self.parameters |= {**given, "nfv": json.dumps(given["nfv"])} if "nfv" in given else given
        self.files |= fields.get("files", {})
        if "template" in fields:
            self.template = yaml.safe_load(fields["template"])
        if self.fails:
            raise StackOperationFailed(sol_title="failed", sol_detail="No valid host\nwas left")
        machines = {name for name in self.template["resources"] if "Node-" in name}
        gone = [n for n, id_ in self.servers.items() if n not in machines or id_ in self.unhealthy]
        for name in gone:
            del self.servers[name]
        new = sorted(machines - {*self.servers})
        for name in new:
            self._made += 1
            self.servers[name] = f"server-{self._made}"
        self.changed.append(sorted({*gone, *new}))

    def get_parameters(self, _: str) -> dict[str, Any]:
        return dict(self.parameters)

    def get_template(self, _: str) -> dict[str, Any]:
        return copy.deepcopy(self.template)

    def mark_unhealthy(self, stack: str, resource: str) -> None:
        name = stack.rpartition("/")[2].removeprefix("id-")
        assert name.startswith(f"{resource}-")
        self.unhealthy.add(self.servers[name])

    def get_resources(self, _: str) -> list[dict[str, Any]]:
        found = []
        for name, server in self.servers.items():
            common = {"creation_time": "2026-01-01T00:00:00Z"}
            links = [{"rel": "stack", "href": f"http://heat/v1/p/stacks/nested/id-{name}"}]
            found += [
                {**common, "resource_name": name, "physical_resource_id": f"stack-{name}",
                 "resource_type": self.template["resources"][name]["type"]},
                {**common, "resource_name": name.rpartition("-")[0], "parent_resource": name,
                 "physical_resource_id": server, "resource_type": "OS::Nova::Server",
                 "links": links},
            ]
        return found


@needs_openstack
class UnattendedTest(UserDataTest):
    def setUp(self) -> None:
        from tacker.sol_refactored import objects
        from tacker.sol_refactored.common.vnfd_utils import Vnfd
        from tacker.sol_refactored.conductor.vnflcm_driver_v2 import VnfLcmDriverV2
        from tacker.sol_refactored.infra_drivers.openstack import heat_utils

        objects.register_all()
        self.heat = FakeHeat()
        patches: list[Any] = [mock.patch.object(heat_utils, "HeatClient", return_value=self.heat)]
        patches += [mock.patch.object(VnfLcmDriverV2, "_exec_mgmt_driver_script", self.hook)]
        patches += [mock.patch(f"mgmt_drivers.operations.{name}") for name in _OPERATIONS]
        for patch in patches:
            patch.start()
            self.addCleanup(patch.stop)
        self.assemble("kubernetes_v2", "complex")
        self.driver = VnfLcmDriverV2.__new__(VnfLcmDriverV2)
        self.vnfd = Vnfd("vnfd")
        self.vnfd.init_from_csar_dir(str(self.folder))
        vims = {"vim1": objects.VimConnectionInfo.from_dict(_OPENSTACK)}
        self.instance = objects.VnfInstanceV2(
            id="vnf-1", vnfdId="vnfd", vimConnectionInfo=vims, metadata={}, **_PRODUCT
        )
        asked = V2().instantiation(self.cluster_request("complex", ""))
        self.process("INSTANTIATE", objects.InstantiateVnfRequest.from_dict(asked))
        self.heat.changed.clear()

    def hook(self, operation: str, flavour: str, request: Any, instance: Any, grant_request: Any,
             grant: Any, vnfd: Any, memory: dict[str, Any], new_vnfd: Any = None) -> None:
        """Run the hook here, as Tacker's process does with the script."""
        del flavour, vnfd, new_vnfd
        given = {
            "operation": operation, "request": request.to_dict(),
            "vnf_instance": instance.to_dict(), "grant_request": grant_request.to_dict(),
            "grant_response": grant.to_dict(), "tmp_csar_dir": str(self.folder),
            "user_script_err_handling_data": memory,
        }
        call = Call(given, lambda access, store: mock.Mock())
        try:
            getattr(kubernetes_v2, operation)(call)
        finally:
            instance.__dict__.update(type(instance).from_dict(call.instance).__dict__)
            # As MySQL keeps it: the keys of objects are in no order of the driver's.
            memory.update(json.loads(json.dumps(call.store.memory, sort_keys=True)))

    def process(
        self, operation: str, request: Any, way: str = "process",
        memory: dict[str, Any] | None = None, **grant: Any,
    ) -> None:
        """Run an operation as Tacker's conductor does; only success changes the instance."""
        from tacker.sol_refactored import objects

        asked = objects.GrantRequestV1(operation=operation, vnfdId="vnfd", vnfInstanceId="vnf-1")
        getattr(self.driver, f"{operation.lower()}_grant")(asked, request, self.instance, self.vnfd)
        occurrence = objects.VnfLcmOpOccV2(operation=operation, operationParams=request)
        granted = objects.GrantV1.from_dict({"id": "grant", **grant})
        instance = self.instance.obj_clone()
        run = getattr(self.driver, way)
        run(None, occurrence, instance, asked, granted, self.vnfd, {} if memory is None else memory)
        self.instance = instance

    def scale(self, kind: str, aspect: str, way: str = "process", **params: Any) -> None:
        """Scale with the request of Tacker's Prometheus plugin."""
        from tacker.sol_refactored import objects

        more = {"additionalParams": params} if params else {}
        asked = {"type": kind, "aspectId": aspect, "numberOfSteps": 1, **more}
        self.process("SCALE", objects.ScaleVnfRequest.from_dict(asked), way)

    def machines(self) -> Counter[str]:
        return Counter(v.vduId for v in self.instance.instantiatedVnfInfo.vnfcResourceInfo)

    def levels(self) -> dict[str, int]:
        status = self.instance.instantiatedVnfInfo.scaleStatus
        return {scale.aspectId: scale.scaleLevel for scale in status}

    def test_a_scale_of_the_monitoring(self) -> None:
        before, levels = self.machines(), self.levels()
        name = f"workerNode-{before['workerNode']}"
        self.scale("SCALE_OUT", "worker_instance")
        self.assertEqual({"workerNode": 1}, self.machines() - before)
        self.assertEqual(levels["worker_instance"] + 1, self.levels()["worker_instance"])
        self.assertEqual([[name], []], self.heat.changed)  # Tacker's own update changes nothing
        self.scale("SCALE_IN", "worker_instance")
        self.assertEqual((before, levels), (self.machines(), self.levels()))
        self.assertEqual([[name], []], self.heat.changed[2:])

    def test_the_machines_that_the_driver_drains_are_those_that_leave(self) -> None:
        self.scale("SCALE_IN", "worker_instance")
        drain: Any = kubernetes_v2.scale_in.scale_in
        (request, *_), _ = drain.call_args
        self.assertEqual([[*request.targets], []], self.heat.changed)
        self.assertIn("workerNode", [*request.targets][0])

    def test_tacker_scales_if_the_request_names_the_user_data(self) -> None:
        self.scale("SCALE_OUT", "worker_instance", **USER_DATA)
        self.assertEqual(1, len(self.heat.changed))
        with self.assertRaisesRegex(ParameterError, "user-data-class: missing"):
            self.scale("SCALE_IN", "worker_instance", **{next(iter(USER_DATA)): "any"})
        self.assertEqual(1, len(self.heat.changed))

    def test_a_roll_back_of_a_failed_scale_out(self) -> None:
        before = self.machines()
        failure = mock.Mock(side_effect=ValueError("of the join"))
        with (
            mock.patch.object(kubernetes_v2.scale_out, "scale_out", failure),
            self.assertRaisesRegex(ValueError, "of the join"),
        ):
            self.scale("SCALE_OUT", "worker_instance")
        self.assertEqual(before.total() + 1, len(self.heat.servers))
        self.scale("SCALE_OUT", "worker_instance", "rollback")
        self.assertEqual(before.total(), len(self.heat.servers))

    def test_the_error_of_heat(self) -> None:
        self.heat.fails = True
        with self.assertRaisesRegex(MgmtDriverError, r"VNF vnf-1 could not .* host\\nwas left"):
            self.scale("SCALE_OUT", "worker_instance")

    def test_a_heal_of_the_monitoring(self) -> None:
        """The new machine is of the stack's image; Tacker's grant names the present package's."""
        from tacker.sol_refactored import objects

        target = self.instance.instantiatedVnfInfo.vnfcInfo[0]
        images = [{"vnfdSoftwareImageId": target.vduId, "vimSoftwareImageId": "later"}]
        heal = objects.HealVnfRequest(vnfcInstanceId=[target.id])
        (name,) = (n for n, s in self.heat.servers.items() if s == target.vnfcResourceInfoId)
        before = self.heat.template, dict(self.heat.parameters)
        first = self.image(name)
        self.process("HEAL", heal, vimAssets={"softwareImages": images})
        self.assertEqual([[name]], self.heat.changed)
        self.assertEqual(before[0], self.heat.template)
        self.assertEqual(json.loads(before[1]["nfv"]), json.loads(self.heat.parameters["nfv"]))
        heal.additionalParams = {**USER_DATA}
        heal.vnfcInstanceId = [self.instance.instantiatedVnfInfo.vnfcInfo[0].id]
        self.process("HEAL", heal, vimAssets={"softwareImages": images})
        self.assertEqual([[name]] * 2, self.heat.changed)
        self.assertEqual([True, "later"], [bool(first), self.image(name)])

    def image(self, machine: str) -> str:
        image: str = json.loads(self.heat.parameters["nfv"])["VDU"][machine]["vcImageId"]
        return image

    def change_package(self, way: str, memory: dict[str, Any], *vdus: str) -> None:
        """Change to a package with another image and flavor, and replace the VDUs' machines."""
        from tacker.sol_refactored import objects

        params = {"upgrade_type": "RollingUpdate", "vdu_params": [{"vdu_id": v} for v in vdus]}
        asked = {"vnfdId": "new", "additionalParams": {**params, **USER_DATA}}
        images = [{"vnfdSoftwareImageId": v, "vimSoftwareImageId": "later"} for v in vdus]
        flavors = [{"vnfdVirtualComputeDescId": v, "vimFlavourId": "larger"} for v in vdus]
        assets = {"softwareImages": images, "computeResourceFlavours": flavors}
        self.driver.nfvo_client = mock.Mock()
        product = mock.Mock(**_PRODUCT)
        self.driver.nfvo_client.get_vnf_package_info_vnfd.return_value = product
        request = objects.ChangeCurrentVnfPkgRequest.from_dict(asked)
        self.process("CHANGE_VNFPKG", request, way, memory, vimAssets=assets)

    def nfv(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.heat.parameters["nfv"])
        return found

    def make_fragile(self) -> list[str]:
        """Record heals; those of masterNode-1 fail when the new machine is to join."""
        healed: list[str] = []

        def start(request: Any, *_: Any) -> None:
            self.heat.changed.append([f"leave {name}" for name in request.targets])

        def end(request: Any, *_: Any) -> None:
            if "masterNode-1" in request.targets and self.fails:
                raise MgmtDriverError("of the join")
            healed.extend(request.targets)

        self.fails = True
        for name, method in (("heal_start", start), ("heal_end", end)):
            patch = mock.patch.object(kubernetes_v2.heal, name, method)
            patch.start()
            self.addCleanup(patch.stop)
        return healed

    def test_a_package_with_another_image(self) -> None:
        """One machine after another is replaced; a retry goes on with the machine that failed."""
        healed, before = self.make_fragile(), self.nfv()
        memory: dict[str, Any] = {}
        servers = {*self.heat.servers.values()}
        with self.assertRaisesRegex(MgmtDriverError, "of the join"):
            self.change_package("process", memory, "workerNode", "masterNode")
        workers = [name for name in healed if "worker" in name]
        self.assertEqual([*workers, "masterNode-2"], healed)
        steps = [[step] for name in (*healed, "masterNode-1") for step in (f"leave {name}", name)]
        self.assertEqual(steps, self.heat.changed)
        for name, values in before["VDU"].items():
            is_new = name in (*healed, "masterNode-1")
            wanted = {"vcImageId": "later", "computeFlavourId": "larger"} if is_new else {}
            self.assertEqual({**values, **wanted}, self.nfv()["VDU"][name])
        self.fails = False
        self.heat.changed.clear()
        levels = self.levels()
        self.change_package("process", memory, "workerNode", "masterNode")
        steps = [[s] for n in ("masterNode-1", "masterNode-0") for s in (f"leave {n}", n)]
        self.assertEqual(steps, [change for change in self.heat.changed if change])
        self.assertEqual({"later"}, {vdu["vcImageId"] for vdu in self.nfv()["VDU"].values()})
        self.assertEqual(before["CP"], self.nfv()["CP"])
        known = {v.id for v in self.instance.instantiatedVnfInfo.vnfcResourceInfo}
        self.assertEqual({*self.heat.servers.values()}, known)
        self.assertEqual(set(), known & servers)
        self.assertEqual(("new", levels), (self.instance.vnfdId, self.levels()))
        self.heat.changed.clear()
        self.change_package("process", {}, "masterNode")  # by a later request
        self.assertEqual(7, len(self.heat.changed))

    def test_a_roll_back_of_a_change_of_the_package(self) -> None:
        """The machines that were replaced are, the last one first, and no other one."""
        healed, before = self.make_fragile(), self.nfv()
        memory: dict[str, Any] = {}
        with self.assertRaisesRegex(MgmtDriverError, "of the join"):
            self.change_package("process", memory, "masterNode", "workerNode")
        self.heat.changed.clear()
        with self.assertRaisesRegex(MgmtDriverError, "of the join"):
            self.change_package("rollback", memory, "masterNode", "workerNode")
        self.fails = False
        levels = self.levels()
        self.change_package("rollback", memory, "masterNode", "workerNode")
        names = ("masterNode-1", "masterNode-1", "masterNode-2")
        steps = [[step] for name in names for step in (f"leave {name}", name)]
        self.assertEqual(steps, [change for change in self.heat.changed if change])
        self.assertEqual(["masterNode-2", "masterNode-1", "masterNode-2"], healed)
        self.assertEqual(before, self.nfv())
        self.assertEqual(("vnfd", levels), (self.instance.vnfdId, self.levels()))

    def test_a_roll_back_after_the_conductor_died(self) -> None:
        """Tacker has lost what the hook noted; the stack tells which machines were replaced."""
        self.make_fragile()
        before = self.nfv()
        with self.assertRaisesRegex(MgmtDriverError, "of the join"):
            self.change_package("process", {}, "masterNode", "workerNode")
        self.fails = False
        self.heat.changed.clear()
        self.change_package("rollback", {}, "masterNode", "workerNode")
        steps = [[step] for n in ("masterNode-2", "masterNode-1") for step in (f"leave {n}", n)]
        self.assertEqual(steps, [change for change in self.heat.changed if change])
        self.assertEqual(before, self.nfv())

    def test_a_change_without_machines_to_replace(self) -> None:
        before = self.nfv()
        for way in ("process", "rollback"):
            self.change_package(way, {})
        self.assertEqual(([[], []], before), (self.heat.changed, self.nfv()))
