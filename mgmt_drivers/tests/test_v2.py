"""Scripts of Tacker's v2 API: what is taken from it, what it gets back, and where errors go."""

import dataclasses
import json
import pickle
import re
import socket
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from mgmt_drivers import kubernetes_v2, private_registry_v2, request
from mgmt_drivers.cluster.access.service_account import Credentials
from mgmt_drivers.cluster.modification import DEFAULT_FILE
from mgmt_drivers.cluster.modification import NAME as MODIFICATION
from mgmt_drivers.engine.services import Services, Store
from mgmt_drivers.errors import InventoryError, MgmtDriverError, ParameterError, Refused
from mgmt_drivers.inventory import VimAccess
from mgmt_drivers.secret import Secret
from mgmt_drivers.tacker.v2 import USER_DATA, Call, CallStore
from mgmt_drivers.tacker.vims_v2 import InstanceVims
from mgmt_drivers.testing.fakes import services
from mgmt_drivers.testing.simulated_cloud import (
    MASTERS,
    STORAGE,
    WORKERS,
    SimulatedClusterTest,
    new_node,
)
from mgmt_drivers.vim import Vim

_VNFD = """
topology_template:
  substitution_mappings: {properties: {flavour_id: simple}}
  node_templates:
    CP1: {type: tosca.nodes.nfv.VduCp, requirements: [{virtual_binding: masterNode}]}
    CP2: {type: tosca.nodes.nfv.VduCp, requirements: [{virtual_binding: workerNode}]}
"""
_OPENSTACK = {
    "vimType": "ETSINFV.OPENSTACK_KEYSTONE.V_3",
    "interfaceInfo": {"endpoint": "http://keystone/v3"},
    "accessInfo": {"username": "nfv", "password": "Pl4nted", "project": "nfv", "region": "R"},
}


_COMPLEX_VNFD = """
topology_template:
  substitution_mappings: {properties: {flavour_id: complex}}
  node_templates:
    masterNode_CP1: {type: tosca.nodes.nfv.VduCp, requirements: [{virtual_binding: masterNode}]}
    workerNode_CP2: {type: tosca.nodes.nfv.VduCp, requirements: [{virtual_binding: workerNode}]}
    storage_server_CP: {type: tosca.nodes.nfv.VduCp, requirements: [{virtual_binding: storage}]}
"""


def _vnfc(vdu: str, index: object, server: str, stack: str = "") -> dict[str, Any]:
    return {
        "id": f"resource-{server}",
        "vduId": vdu,
        "computeResource": {"resourceId": server},
        "metadata": {"stack_id": f"name/{stack or f'stack-{server}'}", "vdu_idx": index},
    }


def _instance() -> dict[str, Any]:
    resources = [_vnfc("masterNode", 0, "m0"), _vnfc("workerNode", 0, "w0")]
    infos = [{"id": f"info-{r['id']}", "vnfcResourceInfoId": r["id"]} for r in resources]
    return {
        "id": "vnf-1",
        "vimConnectionInfo": {"vim1": _OPENSTACK},
        "instantiatedVnfInfo": {
            "flavourId": "simple",
            "vnfcResourceInfo": resources,
            "vnfcInfo": infos,
            "metadata": {"stack_id": "name/stack-top"},
        },
    }


def _scale(kind: str) -> dict[str, Any]:
    return {"type": kind, "additionalParams": USER_DATA}


class ScriptTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.package = Path(folder.name)
        (self.package / "Definitions").mkdir()
        (self.package / "Definitions/simple.yaml").write_text(_VNFD)

    def given(self, operation: str, **changes: Any) -> dict[str, Any]:
        given = {
            "operation": operation,
            "request": {},
            "vnf_instance": _instance(),
            "grant_request": None,
            "grant_response": None,
            "tmp_csar_dir": str(self.package),
            "user_script_err_handling_data": {},
        }
        return {**given, **changes}

    def call(self, operation: str, **changes: Any) -> Call:
        return Call(self.given(operation, **changes), self.services)

    def services(self, access: Callable[[], VimAccess], store: Store) -> Services:
        self.access = access
        return services(store=store, trace_folder=self.package)


class RequestTest(ScriptTest):
    def test_request(self) -> None:
        call = self.call("heal_start")
        built = call.lcm_request("heal", ["workerNode-0"])
        self.assertEqual(("vnf-1", "simple", "stack-top"), (
            built.vnf_instance_id, built.flavour, built.stack_id))
        self.assertEqual({"CP1": "masterNode", "CP2": "workerNode"}, built.cps)
        worker = request.Vnfc("workerNode-0", "workerNode", "w0", "stack-w0")
        self.assertEqual(worker, built.vnfcs[1])
        self.assertIs(call.store, call.services.store)
        access = self.access()
        self.assertEqual(("http://keystone/v3", "R"), (access.auth.auth_url, access.region))
        self.assertNotIn("Pl4nted", repr(access))

    def test_definitions_that_are_no_vnfd(self) -> None:
        """The error names the file, also that of a list in the place of a mapping."""
        for name, text in (
            ("a.yaml", "- topology_template\n"), ("b.yaml", "text"),
            ("simple.yaml", _VNFD.replace("CP1: ", "CP0: [1]\n    CP1: ")),
            ("simple.yaml", "topology_template: [a]"),
        ):
            path = self.package / "Definitions" / name
            before = path.read_text() if path.exists() else None
            path.write_text(text)
            with self.subTest(name), self.assertRaisesRegex(MgmtDriverError, name):
                self.call("heal_start").lcm_request("heal")
            path.write_text(before) if before else path.unlink()

    def test_a_terminate_looks_for_another_operation(self) -> None:
        """And goes on where nothing can be seen: without parameters, or with damaged ones."""
        for script in (kubernetes_v2, private_registry_v2):
            for kept, words in ({}, "KV-PARAMETERS"), ({"mgmt_driver_params": "x"}, "KV-METADATA"):
                call = self.call("terminate_start")
                call.instance["metadata"] = kept
                with self.assertLogs("mgmt_drivers.operations.terminate", "WARNING") as logs:
                    script.terminate_start(call)
                warning = rf"VNF vnf-1: the lock of another operation is not .*: \[{words}\]"
                self.assertRegex(logs.output[0], warning)

    def test_an_instance_without_openstack(self) -> None:
        call = self.call("heal_start")
        call.instance["vimConnectionInfo"] = {}
        _ = call.services
        with self.assertRaisesRegex(InventoryError, "no VIM of type ETSINFV.OPENSTACK"):
            self.access()

    def test_the_parameters_of_the_instantiate_request_are_kept(self) -> None:
        params = {"x": {"y": 1}}
        asked = {"flavourId": "simple", "additionalParams": params}
        first = self.call("instantiate_end", request=asked)
        self.assertEqual(params, first.lcm_request("instantiate").additional_params)
        later = self.call("scale_end", vnf_instance=first.answer["vnf_instance"])
        self.assertEqual(params, later.lcm_request("scale out").additional_params)
        # Tacker copies it into the error of an operation that fails.
        self.assertEqual({}, first.answer["user_script_err_handling_data"])

    def test_the_log_says_once_that_passwords_are_kept(self) -> None:
        asked = {"flavourId": "simple", "additionalParams": {"password": "Pl4nted"}}
        with self.assertLogs("mgmt_drivers", "WARNING") as logs:
            self.call("instantiate_start", request=asked).lcm_request("instantiate")
        (line,) = logs.output
        self.assertIn("clear text in the metadata of VNF instance vnf-1", line)
        self.assertNotIn("Pl4nted", line)
        with self.assertNoLogs("mgmt_drivers"):
            self.call("instantiate_end", request=asked).lcm_request("instantiate")
            self.call("heal_start").lcm_request("heal")

    def test_what_is_kept_outlives_a_failure(self) -> None:
        """Of an operation that fails Tacker saves nothing but its memory."""
        first = self.call("heal_start")
        first.store.save("keys", {"m0": "key"})
        memory = first.answer["user_script_err_handling_data"]
        again = self.call("heal_start", user_script_err_handling_data=memory)
        self.assertEqual({"m0": "key"}, again.store.load("keys", {}))
        well = self.call("scale_start", vnf_instance=first.answer["vnf_instance"])
        self.assertEqual({"m0": "key"}, well.store.load("keys", {}))
        well.store.clear()
        self.assertEqual({}, well.answer["vnf_instance"]["metadata"])


    def test_a_vnf_that_is_terminated_leaves_no_trace(self) -> None:
        for script in (kubernetes_v2, private_registry_v2):
            trace = self.package / "vnf-1.jsonl"
            trace.touch()
            call = self.call("terminate_end")
            call.store.save("keys", {})
            script.terminate_end(call)
            self.assertFalse(trace.exists())
            self.assertEqual({}, call.instance["metadata"])


class VimsTest(ScriptTest):
    def test_the_cluster_is_registered_behind_the_first_vim(self) -> None:
        call = self.call("instantiate_end")
        vims = InstanceVims(call)
        for url in ("https://old", "https://api"):
            vims.register(Vim("cluster", url, Credentials(Secret("t0ken"), "the CA")))
        self.assertTrue(vims.is_taken("cluster"))
        found = call.answer["vnf_instance"]["vimConnectionInfo"]
        self.assertEqual(["vim1", "vim1.cluster"], list(found))
        self.assertEqual(sorted(found), list(found))
        self.assertEqual("https://api", found["vim1.cluster"]["interfaceInfo"]["endpoint"])
        vims.unregister()
        self.assertEqual(["vim1"], list(call.answer["vnf_instance"]["vimConnectionInfo"]))


class HookCaller(SimulatedClusterTest):
    """Calls hooks on a simulated cluster."""

    def setUp(self) -> None:
        super().setUp()
        self.build()
        (self.package / "Definitions").mkdir()
        (self.package / "Definitions/complex.yaml").write_text(_COMPLEX_VNFD)
        self.memory: dict[str, Any] = {}
        self.metadata_of_instance: dict[str, Any] = {
            "mgmt_driver_params": json.dumps({"k8s_cluster_installation_param": self.params})
        }
        self.vim_connections: dict[str, Any] = {"vim1": _OPENSTACK}

    def call(self, hook: Callable[[Call], None], asked: Any, grant: Any = None) -> Call:
        """Call a hook as Tacker does, with the machines that there are now."""
        instance = {
            "id": "vnf-1",
            "vimConnectionInfo": self.vim_connections,
            "metadata": self.metadata_of_instance,
            "instantiatedVnfInfo": {
                "flavourId": "complex",
                **self.vnfcs(),
                "metadata": {"stack_id": "name/vnf"},
            },
        }
        given = {
            "operation": hook.__name__, "request": asked, "vnf_instance": instance,
            "grant_request": grant, "tmp_csar_dir": str(self.package),
            "user_script_err_handling_data": self.memory,
        }
        call = Call(given, lambda access, store: dataclasses.replace(self.services(), store=store))
        hook(call)
        answer = call.answer
        self.memory = answer["user_script_err_handling_data"]
        self.metadata_of_instance = answer["vnf_instance"]["metadata"]
        self.vim_connections = answer["vnf_instance"]["vimConnectionInfo"]
        return call

    def vnfcs(self) -> dict[str, Any]:
        """What Tacker tells of the machines that there are now."""
        resources = [
            _vnfc(m.node.vdu, m.address, m.node.server_id, m.node.server_id)
            for m in self.world.machines.values()
        ]
        infos = [{"id": f"info-{r['id']}", "vnfcResourceInfoId": r["id"]} for r in resources]
        return {"vnfcResourceInfo": resources, "vnfcInfo": infos}


class HooksTest(HookCaller):
    """The hooks of operations on machines."""

    def test_new_vnfcs_are_those_that_were_not_known(self) -> None:
        self.call(kubernetes_v2.scale_start, _scale("SCALE_OUT"))
        self.arrive(new_node("worker", 20, "10.10.0.20"))
        self.call(kubernetes_v2.scale_end, _scale("SCALE_OUT"))
        self.assert_whole(3, 3)

    def test_nothing_is_scaled_with_half_of_the_user_data(self) -> None:
        half = {"lcm-operation-user-data": "./UserData/userdata_standard.py"}
        with self.assertRaisesRegex(ParameterError, "user-data-class: missing"):
            asked = {"type": "SCALE_IN", "additionalParams": half}
            self.call(kubernetes_v2.scale_start, asked)
        self.assertEqual(0, self.connections.total())

    def test_what_the_grant_takes_away_goes(self) -> None:
        worker, master = (self.machine(a).node.server_id for a in (WORKERS[0], MASTERS[0]))
        removed = [
            {"type": "COMPUTE", "resource": {"resourceId": worker}},
            {"type": "LINKPORT", "resource": {"resourceId": master}},
        ]
        name = self.machine(WORKERS[0]).name
        grant = {"removeResources": removed}
        self.call(kubernetes_v2.scale_start, _scale("SCALE_IN"), grant)
        self.assertEqual([name], self.world.drained)
        del self.world.machines[worker]
        self.call(kubernetes_v2.scale_end, _scale("SCALE_IN"))
        self.assert_whole(3, 1)

    def masters(self, kind: str, added: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Request and grant request of a scale-out of masters."""
        resource = {"type": "COMPUTE", "resourceTemplateId": "masterNode"}
        port = {"type": "LINKPORT", "resourceTemplateId": "masterNode_CP1"}
        asked = {**_scale(kind), "aspectId": "master_instance"}
        return asked, {"addResources": [*[resource] * added, *[port] * added]}

    def test_an_even_number_of_masters_is_refused_before_heat_is_asked(self) -> None:
        self.call(kubernetes_v2.scale_start, *self.masters("SCALE_OUT", 2))
        with self.assertRaisesRegex(MgmtDriverError, "aspect master_instance from 3 to 4"):
            self.call(kubernetes_v2.scale_start, *self.masters("SCALE_OUT", 1))
        self.assertEqual(0, self.connections.total())

    def test_masters_of_a_scale_out_that_failed_go_before_their_machines(self) -> None:
        """The process died: it could not undo what it had done."""
        called = self.masters("SCALE_OUT", 2)
        self.call(kubernetes_v2.scale_start, *called)
        for hook in (kubernetes_v2.scale_rollback_start, kubernetes_v2.scale_rollback_end):
            new = [new_node("master", n, f"10.10.0.{n}") for n in (50, 51)]
            for node in new:
                self.arrive(node, is_member=True)
            came = {node.server_id: self.world.machines.pop(node.server_id) for node in new}
            self.call(hook, *called)  # with the instance as it was
            self.assert_whole(3, 2)
            self.assert_balanced()
            self.assertEqual(2, len(came))

    def test_a_roll_back_of_workers_waits_for_heat(self) -> None:
        worker = {"type": "COMPUTE", "resourceTemplateId": "workerNode"}
        grant = {"addResources": [worker]}
        self.call(kubernetes_v2.scale_rollback_start, _scale("SCALE_OUT"), grant)
        self.assertEqual(0, self.connections.total())
        self.call(kubernetes_v2.scale_rollback_end, _scale("SCALE_OUT"), grant)
        self.assertEqual(1, self.connections.total())

    def test_a_healed_vnfc_is_known_by_its_place(self) -> None:
        target = self.machine(WORKERS[0])
        self.world.nodes[target.name]["metadata"]["labels"]["rack"] = "r7"
        asked = {"vnfcInstanceId": [f"info-resource-{target.node.server_id}"]}
        self.call(kubernetes_v2.heal_start, asked)
        self.assertNotIn(target.name, self.world.nodes)
        self.replaced(target.node)
        self.call(kubernetes_v2.heal_end, asked)
        self.assert_whole(3, 2)
        labels = self.world.nodes[self.machine(WORKERS[0]).name]["metadata"]["labels"]
        self.assertEqual("r7", labels["rack"])
        self.assertEqual({}, self.metadata())

    def test_labels_outlive_a_heal_that_was_ended_by_fail(self) -> None:
        """Tacker has lost all that the drivers gave it, as after the death of the conductor."""
        worker = self.machine(WORKERS[0])
        self.world.nodes[worker.name]["metadata"]["labels"]["rack"] = "r7"
        before = self.metadata_of_instance
        for _ in range(2):
            self.memory, self.metadata_of_instance = {}, before
            target = self.machine(WORKERS[0]).node
            asked = {"vnfcInstanceId": [f"info-resource-{target.server_id}"]}
            self.call(kubernetes_v2.heal_start, asked)
            self.replaced(target)
        self.call(kubernetes_v2.heal_end, asked)
        labels = self.world.nodes[self.machine(WORKERS[0]).name]["metadata"]["labels"]
        self.assertEqual("r7", labels["rack"])

    def test_a_vnfc_that_is_not_there_is_refused(self) -> None:
        known = f"info-resource-{self.machine(WORKERS[0]).node.server_id}"
        for asked in (["info-x", "info-y"], ["info-y", known, "info-x"]):
            with self.assertRaisesRegex(InventoryError, "the VNFCs info-x, info-y of vnfcInst"):
                self.call(kubernetes_v2.heal_start, {"vnfcInstanceId": asked})
        self.assertEqual(0, self.connections.total())

    def test_heal_of_the_whole_makes_a_new_cluster(self) -> None:
        self.call(kubernetes_v2.heal_start, {})
        self.assertEqual({1}, set(self.connections.values()))  # whether another has a machine
        self.build(is_clustered=False)
        self.call(kubernetes_v2.heal_end, {})
        self.assert_whole(3, 2)
        self.assertEqual(["vim1", "vim1.kubernetes_vim_vnf-1"], list(self.vim_connections))

    def test_a_heal_says_what_it_restores(self) -> None:
        for params, words in (
            ({"restore_from": "latest"}, "the VNF has no etcd_backup"),
            ({"restore_from": "Files/none"}, "the VNF package has no file Files/none"),
            ({"restore_from": ""}, "must be a string"),
        ):
            with self.assertRaisesRegex(ParameterError, words) as caught:
                self.call(kubernetes_v2.heal_start, {"additionalParams": params})
            self.assertIn("additionalParams.restore_from: ", str(caught.exception))
        asked = {"vnfcInstanceId": [f"info-resource-{self.machine(WORKERS[0]).node.server_id}"]}
        with self.assertRaisesRegex(ParameterError, "only the heal of the whole VNF"):
            params = {"restore_from": "latest"}
            self.call(kubernetes_v2.heal_start, {**asked, "additionalParams": params})

    def test_a_heal_of_all_keeps_no_volume(self) -> None:
        self.params = {**self.params, "etcd_backup": {}}
        params = json.dumps({"k8s_cluster_installation_param": self.params})
        self.metadata_of_instance = {"mgmt_driver_params": params}
        asked = {"additionalParams": {"restore_from": "latest", "all": True}}
        with self.assertRaisesRegex(ParameterError, "on a volume .* which this heal replaces"):
            self.call(kubernetes_v2.heal_start, asked)
        with self.assertRaisesRegex(ParameterError, "there is no backup latest"):
            params_of_heal = {"restore_from": "latest", "all": False}
            self.call(kubernetes_v2.heal_start, {"additionalParams": params_of_heal})

    def test_few_frames_lie_between_a_hook_and_a_command(self) -> None:
        self.world.deepest = []
        self.call(kubernetes_v2.scale_start, _scale("SCALE_OUT"))
        self.arrive(new_node("worker", 20, "10.10.0.20"))
        self.call(kubernetes_v2.scale_end, _scale("SCALE_OUT"))
        for address in (MASTERS[0], STORAGE):
            target = self.machine(address).node
            asked = {"vnfcInstanceId": [f"info-resource-{target.server_id}"]}
            self.call(kubernetes_v2.heal_start, asked)
            self.replaced(target)
            self.call(kubernetes_v2.heal_end, asked)
        self.assert_whole(3, 3)
        self.assertLessEqual(len(self.world.deepest), 17, "\n".join(self.world.deepest))


class UpgradeHooksTest(HookCaller):
    """The hooks of a modification, and of another package."""

    def setUp(self) -> None:
        super().setUp()
        self.params = {**self.params, "kubernetes_version": "1.36.4"}
        params = json.dumps({"k8s_cluster_installation_param": self.params})
        self.metadata_of_instance = {"mgmt_driver_params": params, "site": "north"}
        self.build()

    def build(self, is_clustered: bool = True) -> None:
        super().build(is_clustered)
        self.world.have("v1.36.4")

    def modify(self, wanted: Any, hook: Callable[[Call], None]) -> None:
        """Tacker merges the request's metadata into the instance's between the hooks."""
        metadata = {} if wanted is None else {MODIFICATION: wanted}
        if hook is kubernetes_v2.modify_information_end:
            self.metadata_of_instance = {**self.metadata_of_instance, **metadata}
        self.call(hook, {"metadata": metadata})

    def releases(self) -> set[str]:
        return {m.running for m in self.world.machines.values() if m.role != "storage"}

    def test_a_modification_upgrades_and_goes(self) -> None:
        wanted = {"kubernetes_version": "1.37"}
        self.modify(wanted, kubernetes_v2.modify_information_start)
        self.assertEqual(0, self.connections.total())
        self.modify(wanted, kubernetes_v2.modify_information_end)
        self.assertEqual({"v1.37.2"}, self.releases())
        self.assertNotIn(MODIFICATION, self.metadata_of_instance)
        # Tacker copies the memory into errors, and parameters may be secret.
        self.assertNotIn("changed_params", self.memory)
        self.assertNotIn("wanted_params", self.memory)
        self.assertEqual("north", self.metadata_of_instance["site"])
        self.call(kubernetes_v2.scale_start, _scale("SCALE_OUT"))
        machine = self.arrive(new_node("worker", 20, "10.10.0.20"))
        self.call(kubernetes_v2.scale_end, _scale("SCALE_OUT"))
        self.assertEqual("v1.37.2", machine.running)

    def test_an_upgrade_that_failed_is_named_again(self) -> None:
        """Tacker keeps nothing of the upgrade, and the packages have come from a new place."""
        before = dict(self.metadata_of_instance)
        wanted = {
            "kubernetes_version": "1.37",
            "package_repository": {"url": "http://new/apt/"},
        }
        self.modify(wanted, kubernetes_v2.modify_information_end)
        self.memory, self.metadata_of_instance = {}, before
        params = {"additionalParams": {**USER_DATA, MODIFICATION: wanted}}
        target = self.machine(WORKERS[0])
        asked = {"vnfcInstanceId": [f"info-resource-{target.node.server_id}"], **params}
        self.call(kubernetes_v2.heal_start, asked)
        self.replaced(target.node)
        self.call(kubernetes_v2.heal_end, asked)
        self.assertEqual({"v1.37.2"}, self.releases())
        kept = json.loads(self.metadata_of_instance["mgmt_driver_changed_params"])
        self.assertEqual({**wanted, "kubernetes_version": "1.37.2"}, kept)

    def test_a_heal_that_does_not_name_the_upgrade_removes_no_node(self) -> None:
        """Tacker knows nothing of an upgrade by several series: the new machine could not join."""
        params = {**self.params, "kubernetes_version": "1.35.3"}
        kept = json.dumps({"k8s_cluster_installation_param": params})
        self.metadata_of_instance = {"mgmt_driver_params": kept}
        self.world.have("v1.37.2")
        words = f"v1.37.2, and Tacker knows 1.35.3: .* send .* the upgrade's {MODIFICATION} in"
        for address in (STORAGE, MASTERS[0], WORKERS[0]):
            target = self.machine(address).node
            asked: dict[str, Any] = {"vnfcInstanceId": [f"info-resource-{target.server_id}"]}
            with self.assertRaisesRegex(MgmtDriverError, words):
                self.call(kubernetes_v2.heal_start, asked)
        self.assert_whole(3, 2)
        self.assertEqual(([], {"pv1"}), (self.world.drained, self.world.volumes.keys()))
        asked["additionalParams"] = {MODIFICATION: {"kubernetes_version": "1.37"}}
        self.call(kubernetes_v2.heal_start, asked)
        self.replaced(target)
        self.call(kubernetes_v2.heal_end, asked)
        self.assert_whole(3, 2)
        self.assertEqual({"v1.37.2"}, self.releases())

    def test_what_goes_with_another_operation_is_an_upgrade(self) -> None:
        for wanted, words in (
            ({"renew_certificates": True}, "param: only an upgrade or a change of logins"),
            ({"kubernetes_version": "1.35"}, "param.kubernetes_version: 1.35 is older"),
        ):
            params = {"additionalParams": {**USER_DATA, MODIFICATION: wanted}}
            with self.assertRaisesRegex(ParameterError, words):
                self.call(kubernetes_v2.scale_start, {"type": "SCALE_OUT", **params})
        self.assertEqual(0, self.connections.total())

    def test_a_modification_that_changes_other_parameters(self) -> None:
        for hook in (kubernetes_v2.modify_information_start, kubernetes_v2.modify_information_end):
            self.modify('{"drain_timeout": "2h"}', hook)
        self.assertEqual({"v1.36.4"}, self.releases())
        kept = json.loads(self.metadata_of_instance["mgmt_driver_changed_params"])
        self.assertEqual({"drain_timeout": "2h"}, kept)

    def test_other_modifications_ask_no_machine(self) -> None:
        for hook in (kubernetes_v2.modify_information_start, kubernetes_v2.modify_information_end):
            self.modify(None, hook)
            self.call(hook, {"vnfInstanceName": "another"})
        self.assertEqual(0, self.connections.total())

    def test_a_faulty_modification_is_refused_before_tacker_changes_anything(self) -> None:
        for wanted, words in (
            ({"kubernetes_version": "1.38"}, "param.kubernetes_version: must be a series"),
            ({"kubernetes_version": "1.35"}, "param.kubernetes_version: 1.35 is older"),
        ):
            with self.assertRaisesRegex(ParameterError, words):
                self.modify(wanted, kubernetes_v2.modify_information_start)
        self.assertEqual(0, self.connections.total())

    def change_package(self, **params: Any) -> None:
        asked = {"vnfdId": "new", "additionalParams": {
            "upgrade_type": "RollingUpdate", "vdu_params": [], **USER_DATA, **params,
        }}
        self.call(kubernetes_v2.change_current_package_start, asked)
        self.call(kubernetes_v2.change_current_package_end, asked)

    def test_a_package_that_names_no_version(self) -> None:
        self.change_package()
        self.assertEqual(0, self.connections.total())

    def test_a_package_without_a_file_of_the_old_one(self) -> None:
        """Also one that a modification has named."""
        self.metadata_of_instance["mgmt_driver_changed_params"] = '{"ca_certificates": "ca.crt"}'
        (self.package / "pv.yaml").unlink()
        with self.assertRaises(MgmtDriverError) as caught:
            self.change_package()
        for words in "KV-PARAMETERS", ": .* pv.yaml", "ca.crt", "give build the --file and --ove":
            self.assertRegex(str(caught.exception), words)
        self.assertEqual(0, self.connections.total())

    def test_a_package_names_the_version(self) -> None:
        path = self.package / DEFAULT_FILE
        path.write_text('kubernetes_version: "1.37"\n')
        self.change_package()
        self.assertEqual({"v1.37.2"}, self.releases())

    def test_the_request_names_the_version(self) -> None:
        (self.package / DEFAULT_FILE).write_text('kubernetes_version: "1.35"\n')
        self.change_package(**{MODIFICATION: {"kubernetes_version": "1.37"}})
        self.assertEqual({"v1.37.2"}, self.releases())

    def test_a_package_whose_file_is_none(self) -> None:
        for text, words in (("[]", "must be an object"), ("{", f"{DEFAULT_FILE}: ")):
            (self.package / DEFAULT_FILE).write_text(text)
            with self.assertRaisesRegex(ParameterError, words):
                self.change_package()

    def test_machines_are_replaced_one_after_another(self) -> None:
        """A node has left before its machine goes, when all others, new ones too, are there."""
        replaced: list[str] = []

        def replace_machine(call: Call, values: Mapping[str, Mapping[str, str]]) -> None:
            (vnfc,) = values
            self.assertEqual(wanted[vnfc], values[vnfc])
            machine = self.machine(vnfc.partition("-")[2])
            nodes = {m.name for m in self.world.machines.values() if m.role != "storage"}
            self.assertEqual(nodes - {machine.name}, set(self.world.nodes))
            replaced.append(self.replaced(machine.node).server_id)
            call.info.update(self.vnfcs())

        def change_current_package_start(call: Call) -> None:
            kubernetes_v2.replace_machines(call, wanted, replace_machine)

        vnfcs = [*(f"masterNode-{m}" for m in MASTERS), *(f"workerNode-{w}" for w in WORKERS)]
        wanted = {vnfc: {"vcImageId": f"of {vnfc}"} for vnfc in vnfcs}
        self.call(change_current_package_start, {})
        self.assert_whole(3, 2)
        self.assertEqual(5, len(replaced))
        self.assertLess({*replaced}, {*self.world.machines})

    def test_the_only_control_plane_node_is_not_replaced(self) -> None:
        """Nor are workers, which the request names, too."""
        for address in MASTERS[1:]:
            del self.world.machines[self.machine(address).node.server_id]
        own = self.params["master_node"]
        params = {**self.params, "master_node": {**own, "cluster_cp_name": own["nic_cp_name"]}}
        kept = json.dumps({"k8s_cluster_installation_param": params})
        self.metadata_of_instance = {"mgmt_driver_params": kept}
        vnfcs = [f"workerNode-{WORKERS[0]}", f"masterNode-{MASTERS[0]}"]

        def change_current_package_start(call: Call) -> None:
            kubernetes_v2.replace_machines(call, dict.fromkeys(vnfcs, {}), mock.Mock())

        with self.assertRaisesRegex(Refused, "Leave masterNode out of vdu_params"):
            self.call(change_current_package_start, {})
        self.assertEqual(0, self.connections.total())

    def test_machines_are_replaced_after_an_upgrade_that_failed(self) -> None:
        """Tacker keeps nothing of the upgrade, and the packages have come from a new place."""
        wanted = {
            "kubernetes_version": "1.37",
            "package_repository": {"url": "http://new/apt/"},
        }
        before = dict(self.metadata_of_instance)
        self.change_package(**{MODIFICATION: wanted})
        for hook in kubernetes_v2.change_current_package_start, self.rollback():
            self.memory, self.metadata_of_instance = {}, dict(before)
            kept = self.replace_workers(hook, **{MODIFICATION: wanted})
            self.assertEqual({**wanted, "kubernetes_version": "1.37.2"}, kept)

    def test_a_rollback_knows_the_upgrade_of_the_new_package(self) -> None:
        """A rollback has the old package, which lacks files of the upgrade, and Tacker's memory."""
        before, path = dict(self.metadata_of_instance), self.package / DEFAULT_FILE
        for key in ("key.asc", "new.asc"):
            repository = {"url": "http://new/apt/", "key_path": key}
            wanted = {"kubernetes_version": "1.37", "package_repository": repository}
            login = {"password": self.params["master_node"]["password"]}
            path.write_text(json.dumps({**wanted, "master_node": login}))
            (self.package / "new.asc").write_text("key")
            self.change_package()
            self.assertNotIn(login["password"], str(self.memory))
            path.unlink()
            (self.package / "new.asc").unlink()
            self.metadata_of_instance = dict(before)
            kept = self.replace_workers(self.rollback())
            known = {"package_repository": {"url": "http://new/apt/"}} if key == "key.asc" else {}
            self.assertEqual({**known, "kubernetes_version": "1.37.2"}, kept)

    def rollback(self) -> Callable[[Call], None]:
        def change_current_package_rollback_start(call: Call) -> None:
            changed = {vnfc.id: {"vcImageId": "before"} for vnfc in call.vnfcs}
            call.info["metadata"]["nfv"] = {"VDU": changed}
            kubernetes_v2.change_current_package_rollback_start(call)

        return change_current_package_rollback_start

    def replace_workers(self, hook: Callable[[Call], None], **params: Any) -> Any:
        """Call a hook that replaces both workers; returns the parameters that Tacker keeps."""
        def replace_machine(call: Call, values: Mapping[str, Mapping[str, str]]) -> None:
            (vnfc,) = values
            self.replaced(self.machine(vnfc.partition("-")[2]).node)
            call.info.update(self.vnfcs())
            replaced.append(vnfc)

        replaced: list[str] = []
        stack = mock.Mock(replace_machine=replace_machine)  # the real one needs Tacker
        stack.read_values.side_effect = lambda call: {vnfc.id: {} for vnfc in call.vnfcs}
        vdus = [{"vdu_id": "workerNode"}]
        with mock.patch.dict(sys.modules, {"mgmt_drivers.tacker.stack": stack}):
            self.call(hook, {"additionalParams": {**USER_DATA, **params, "vdu_params": vdus}})
        self.assert_whole(3, 2)
        self.assertEqual(2, len(replaced))
        return json.loads(self.metadata_of_instance["mgmt_driver_changed_params"])

    def test_a_package_changes_nothing_without_the_user_data(self) -> None:
        with self.assertRaisesRegex(ParameterError, "user-data-class: missing"):
            self.call(kubernetes_v2.change_current_package_start, {"additionalParams": {}})


class ProcessTest(ScriptTest):
    def run_script(
        self, *words: str, home: str = "/nonexistent", **changes: Any
    ) -> subprocess.CompletedProcess[bytes]:
        script = Path(kubernetes_v2.__file__)
        return subprocess.run(
            [sys.executable, *(words or [str(script)])],
            input=pickle.dumps(self.given(**changes)),
            capture_output=True,
            cwd=script.parents[1],
            env={"PYTHONPATH": str(script.parents[1]), "HOME": home},
        )

    def test_an_error_is_one_line_and_the_answer_is_whole(self) -> None:
        params = {"k8s_cluster_installation_param": {"vim_name": "Pl4nted"}}
        asked = {"flavourId": "simple", "additionalParams": params}
        ran = self.run_script(operation="instantiate_start", request=asked)
        self.assertEqual(1, ran.returncode)
        (line,) = ran.stderr.decode().splitlines()
        self.assertTrue(line.startswith("[KV-PARAMETERS] invalid parameters: "), line)
        log = re.escape(f"v2-{socket.gethostname()}.log")
        self.assertRegex(line, rf"[(]details: /.*/{log}[)]$")
        self.assertEqual("vnf-1", pickle.loads(ran.stdout)["vnf_instance"]["id"])

    def test_warnings_and_what_is_printed_stay_out(self) -> None:
        hook = "lambda call: (warnings.warn('old'), logging.error('bad'), print('something'))"
        program = "import logging, warnings; from mgmt_drivers.tacker import v2_process\n"
        program += f"v2_process.run({{'heal_end': {hook}}})"
        ran = self.run_script("-c", program, operation="heal_end")
        self.assertEqual((0, b""), (ran.returncode, ran.stderr))
        self.assertEqual("vnf-1", pickle.loads(ran.stdout)["vnf_instance"]["id"])

    def test_it_reads_tackers_configuration(self) -> None:
        hook = "lambda call: print(call.services.ssh_timeout, call.services.trace_folder,"
        hook += " file=sys.stderr)"
        program = "import sys; from mgmt_drivers.tacker import v2_process\n"
        program += f"v2_process.run({{'heal_end': {hook}}})"
        with tempfile.TemporaryDirectory() as home:
            for trace_dir in (f"{home}/traces", ""):
                config = f"[mgmt_drivers]\nssh_timeout = 7\ntrace_dir = {trace_dir}\n"
                Path(home, "tacker.conf").write_text(config)
                ran = self.run_script("-c", program, home=home, operation="heal_end")
                self.assertEqual(f"7 {trace_dir or None}\n", ran.stderr.decode())
            self.assertTrue(Path(home, f"traces/v2-{socket.gethostname()}.log").exists())

    def log_into(self, folder: str, host: str = "host-1") -> Path:
        """Run a hook on a conductor's host that has a log of at most 1000 bytes in the folder."""
        Path(folder, "tacker.conf").write_text(f"[mgmt_drivers]\ntrace_dir = {folder}\n")
        program = "import socket\nfrom mgmt_drivers.tacker import v2_process\n"
        program += f"socket.gethostname = lambda: {host!r}\n"
        program += "v2_process._LOG_SIZE = 1000\n"
        program += "v2_process.run({})"
        self.run_script("-c", program, home=folder, operation="heal_end")
        return Path(folder, f"v2-{host}.log")

    def test_the_log_rotates(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(10):
                log = self.log_into(folder)
                log.write_bytes(log.read_bytes() + b"x" * 1000)
            self.log_into(folder)
            self.assertIn("heal_end of VNF", log.read_text())
            names = {path.name for path in Path(folder).glob("*.log*")}
            self.assertEqual({log.name, *(f"{log.name}.{n}" for n in range(1, 6))}, names)
            self.assertIn("xxx", Path(f"{log}.1").read_text())
            for path in Path(folder).glob("*.log*"):
                self.assertEqual(0, path.stat().st_mode & 0o077)

    def test_conductors_that_share_the_folder_have_their_own_logs(self) -> None:
        # Two hosts that append to one file over NFS overwrite each other's lines.
        with tempfile.TemporaryDirectory() as folder:
            logs = [self.log_into(folder, host) for host in ("host-1", "host-2")]
            for log in logs:
                self.assertEqual(1, log.read_text().count("heal_end of VNF"))

    def test_a_hook_that_is_not_there_does_nothing(self) -> None:
        ran = self.run_script(operation="instantiate_rollback_end")
        self.assertEqual((0, b""), (ran.returncode, ran.stderr))
        self.assertEqual(_instance(), pickle.loads(ran.stdout)["vnf_instance"])

    def test_what_is_kept_and_changed_by_others_is_named(self) -> None:
        """Users of Tacker may change the metadata of a VNF instance."""
        for value in ("abc", "[1]", "5", '"x"', "null", "[" * 100_000, 5, ["x"]):
            store = CallStore({"metadata": {"mgmt_driver_known": value}}, {})
            words = "mgmt_driver_known in the metadata of the VNF instance is damaged: restore"
            with self.subTest(str(value)[:9]), self.assertRaisesRegex(MgmtDriverError, words):
                store.load("known", {})

    def test_what_is_kept_is_json(self) -> None:
        ran = self.run_script(operation="scale_start", request=_scale("SCALE_OUT"))
        metadata = pickle.loads(ran.stdout)["vnf_instance"]["metadata"]
        known = json.loads(metadata["mgmt_driver_known_vnfcs"])
        self.assertEqual(["masterNode-0", "workerNode-0"], known)
