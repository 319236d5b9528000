"""Scripts of Tacker's v2 API: what is taken from it, what it gets back, and where errors go."""

import ipaddress
import json
import pickle
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from mgmt_drivers import kubernetes, kubernetes_v2, request
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.kube.cluster import VimAccount
from mgmt_drivers.secret import Secret
from mgmt_drivers.tacker_v2 import Call

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


def _vnfc(vdu: str, index: int, server: str) -> dict[str, Any]:
    return {
        "id": f"resource-{server}",
        "vduId": vdu,
        "computeResource": {"resourceId": server},
        "metadata": {"stack_id": f"name/stack-{server}", "vdu_idx": index},
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
    return {"type": kind, "additionalParams": kubernetes_v2._USER_DATA}


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
        return Call(self.given(operation, **changes), None)


class RequestTest(ScriptTest):
    def test_request(self) -> None:
        built = self.call("heal_start").lcm_request("heal", ["workerNode-0"])
        self.assertEqual(("vnf-1", "simple", "stack-top"), (
            built.vnf_instance_id, built.flavour, built.stack_id))
        self.assertEqual({"CP1": "masterNode", "CP2": "workerNode"}, built.cps)
        worker = request.Vnfc("workerNode-0", "workerNode", "w0", "stack-w0", "resource-w0")
        self.assertEqual(worker, built.vnfcs[1])
        assert built.vim
        self.assertEqual(("http://keystone/v3", "R"), (built.vim.auth_url, built.vim.region))
        self.assertNotIn("Pl4nted", repr(built))

    def test_the_parameters_of_the_instantiate_request_are_kept(self) -> None:
        params = {"x": {"y": 1}}
        asked = {"flavourId": "simple", "additionalParams": params}
        first = self.call("instantiate_end", request=asked)
        self.assertEqual(params, first.lcm_request("instantiate").additional_params)
        later = self.call("scale_end", vnf_instance=first.answer["vnf_instance"])
        self.assertEqual(params, later.lcm_request("scale out").additional_params)

    def test_what_is_kept_outlives_a_failure(self) -> None:
        """Of an operation that fails Tacker saves nothing but its memory."""
        first = self.call("heal_start")
        first.surroundings.save_host_keys({"m0": "key"})
        memory = first.answer["user_script_err_handling_data"]
        again = self.call("heal_start", user_script_err_handling_data=memory)
        self.assertEqual({"m0": "key"}, again.lcm_request("heal").host_keys)
        well = self.call("scale_start", vnf_instance=first.answer["vnf_instance"])
        self.assertEqual({"m0": "key"}, well.lcm_request("scale in").host_keys)
        well.forget()
        self.assertEqual({}, well.answer["vnf_instance"]["metadata"])


class HooksTest(ScriptTest):
    def setUp(self) -> None:
        super().setUp()
        self.done: list[tuple[str, frozenset[str]]] = []
        account = VimAccount("https://api", Secret("t0ken"), "the CA")
        vim = kubernetes.Vim("cluster", account)

        def note(name: str, result: Any = None) -> Any:
            def operation(wanted: request.LcmRequest, *rest: Any) -> Any:
                self.done.append((name, wanted.targets))
                return result

            return mock.patch.object(kubernetes, name, operation)

        for patch in (
            note("instantiate", vim), note("scale_out"), note("scale_in"), note("heal_start"),
            note("heal_end"),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def test_the_cluster_is_handed_back_behind_the_first_vim(self) -> None:
        call = self.call("instantiate_end", request={"flavourId": "simple"})
        kubernetes_v2.instantiate_end(call)
        vims = call.answer["vnf_instance"]["vimConnectionInfo"]
        self.assertEqual(["vim1", "vim1.cluster"], list(vims))
        self.assertEqual(sorted(vims), list(vims))
        self.assertEqual("https://api", vims["vim1.cluster"]["interfaceInfo"]["endpoint"])

    def test_ports_must_let_the_pods_through(self) -> None:
        folder = self.package / "BaseHOT/simple"
        folder.mkdir(parents=True)
        (folder / "simple.yaml").write_text("parameters: {pod_cidr: {default: 192.168.0.0/16}}")
        for wanted, words in (("192.168.3.0/16", ""), ("10.244.0.0/16", "let 192.168.0.0/16 thr")):
            found = mock.Mock(pod_cidr=ipaddress.IPv4Network(wanted, strict=False))
            asked = mock.Mock(package=self.package, flavour="simple")
            with mock.patch.object(kubernetes_v2, "read_params", return_value=found):
                if not words:
                    kubernetes_v2._check_pod_network(asked)
                    continue
                with self.assertRaisesRegex(ParameterError, f"master_node.pod_cidr: .*{words}"):
                    kubernetes_v2._check_pod_network(asked)

    def test_new_vnfcs_are_those_that_were_not_known(self) -> None:
        start = self.call("scale_start", request=_scale("SCALE_OUT"))
        kubernetes_v2.scale_start(start)
        grown = start.answer["vnf_instance"]
        grown["instantiatedVnfInfo"]["vnfcResourceInfo"].append(_vnfc("workerNode", 1, "w1"))
        end = self.call(
            "scale_end",
            request=_scale("SCALE_OUT"),
            vnf_instance=grown,
            user_script_err_handling_data=start.answer["user_script_err_handling_data"],
        )
        kubernetes_v2.scale_end(end)
        self.assertEqual([("scale_out", frozenset({"workerNode-1"}))], self.done)

    def test_nothing_is_scaled_without_the_user_data(self) -> None:
        call = self.call("scale_start", request={"type": "SCALE_IN"})
        with self.assertRaisesRegex(ParameterError, "user-data-class: missing"):
            kubernetes_v2.scale_start(call)
        self.assertEqual([], self.done)

    def test_what_the_grant_takes_away_goes(self) -> None:
        removed = [
            {"type": "COMPUTE", "resource": {"resourceId": "w0"}},
            {"type": "LINKPORT", "resource": {"resourceId": "m0"}},
        ]
        call = self.call(
            "scale_start", request=_scale("SCALE_IN"), grant_request={"removeResources": removed}
        )
        kubernetes_v2.scale_start(call)
        kubernetes_v2.scale_end(call)
        self.assertEqual([("scale_in", frozenset({"workerNode-0"}))], self.done)

    def test_a_healed_vnfc_is_known_by_its_place(self) -> None:
        asked = {"vnfcInstanceId": ["info-resource-w0"]}
        start = self.call("heal_start", request=asked)
        kubernetes_v2.heal_start(start)
        healed = start.answer["vnf_instance"]
        healed["instantiatedVnfInfo"]["vnfcResourceInfo"][1] = _vnfc("workerNode", 0, "other")
        memory = start.answer["user_script_err_handling_data"]
        end = self.call("heal_end", request=asked, vnf_instance=healed,
                        user_script_err_handling_data=memory)
        kubernetes_v2.heal_end(end)
        target = frozenset({"workerNode-0"})
        self.assertEqual([("heal_start", target), ("heal_end", target)], self.done)

    def test_heal_of_the_whole_makes_a_new_cluster(self) -> None:
        call = self.call("heal_start")
        kubernetes_v2.heal_start(call)
        kubernetes_v2.heal_end(call)
        self.assertEqual([("instantiate", frozenset())], self.done)
        self.assertIn("vim1.cluster", call.answer["vnf_instance"]["vimConnectionInfo"])


class ProcessTest(ScriptTest):
    def run_script(self, *words: str, **changes: Any) -> subprocess.CompletedProcess[bytes]:
        script = Path(kubernetes_v2.__file__)
        return subprocess.run(
            [sys.executable, *(words or [str(script)])],
            input=pickle.dumps(self.given(**changes)),
            capture_output=True,
            cwd=script.parents[1],
            env={"PYTHONPATH": str(script.parents[1])},
        )

    def test_an_error_is_one_line_and_the_answer_is_whole(self) -> None:
        params = {"k8s_cluster_installation_param": {"vim_name": "Pl4nted"}}
        asked = {"flavourId": "simple", "additionalParams": params}
        ran = self.run_script(operation="instantiate_start", request=asked)
        self.assertEqual(1, ran.returncode)
        (line,) = ran.stderr.decode().splitlines()
        self.assertTrue(line.startswith("invalid parameters: "), line)
        self.assertRegex(line, r"[(]details: /.*v2[.]log[)]$")
        self.assertEqual("vnf-1", pickle.loads(ran.stdout)["vnf_instance"]["id"])

    def test_warnings_and_what_is_printed_stay_out(self) -> None:
        hook = "lambda call: (warnings.warn('old'), logging.error('bad'), print('something'))"
        program = "import logging, warnings; from mgmt_drivers import script_v2\n"
        program += f"script_v2.run({{'heal_end': {hook}}})"
        ran = self.run_script("-c", program, operation="heal_end")
        self.assertEqual((0, b""), (ran.returncode, ran.stderr))
        self.assertEqual("vnf-1", pickle.loads(ran.stdout)["vnf_instance"]["id"])

    def test_a_hook_that_is_not_there_does_nothing(self) -> None:
        ran = self.run_script(operation="instantiate_rollback_end")
        self.assertEqual((0, b""), (ran.returncode, ran.stderr))
        self.assertEqual(_instance(), pickle.loads(ran.stdout)["vnf_instance"])

    def test_what_is_kept_is_json(self) -> None:
        ran = self.run_script(operation="scale_start", request=_scale("SCALE_OUT"))
        metadata = pickle.loads(ran.stdout)["vnf_instance"]["metadata"]
        known = json.loads(metadata["mgmt_driver_known_vnfcs"])
        self.assertEqual(["masterNode-0", "workerNode-0"], known)
