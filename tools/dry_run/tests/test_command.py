"""What Tacker shows of VNFs, what is printed of their operations, and the command line."""

import contextlib
import dataclasses
import io
import json
import os
import tempfile
import unittest
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from mgmt_drivers.cluster.modification import NAME as MODIFICATION
from mgmt_drivers.errors import MgmtDriverError, ParameterError
from mgmt_drivers.operations import heal, modify, scale_out
from mgmt_drivers.tacker.v2 import USER_DATA
from mgmt_drivers.testing.simulated_cloud import MASTERS, WORKERS, SimulatedClusterTest, new_node
from tools.client import lcm, stacks
from tools.client.api import V2
from tools.client.errors import ClientError
from tools.client.tests.fakes import Orchestration, resource
from tools.csar import build
from tools.dry_run import numbers, report
from tools.dry_run.cli import run_on, run_operation
from tools.dry_run.instances import Instance, InstanceV1, InstanceV2
from tools.dry_run.operations import Result, Vnf
from tools.dry_run.tacker import Cloud, unpacked
from tools.k8s_vnf.app import main

CHECKOUT = Path(__file__).resolve().parents[3]
PACKAGES, REQUESTS = CHECKOUT / "vnf_packages", CHECKOUT / "functional" / "requests"
_VNFD = PACKAGES / "kubernetes/Definitions/kubernetes_df_complex.yaml"


class NumbersTest(unittest.TestCase):
    def setUp(self) -> None:
        self.vnfd = yaml.safe_load(_VNFD.read_text())

    def test_instantiation_levels(self) -> None:
        default = {"masterNode": 3, "workerNode": 2}
        self.assertEqual(default, numbers.instantiated(self.vnfd, None))
        more = numbers.instantiated(self.vnfd, "instantiation_level_2")
        self.assertEqual({"masterNode": 3, "workerNode": 6}, more)
        with self.assertRaisesRegex(ParameterError, "instantiationLevelId: .* no level none"):
            numbers.instantiated(self.vnfd, "none")

    def test_a_vdu_without_policies(self) -> None:
        path = PACKAGES / "private_registry/Definitions"
        (file,) = path.glob("*df*.yaml")
        found = numbers.instantiated(yaml.safe_load(file.read_text()), None)
        self.assertEqual({"PrivateRegistryVDU": 1}, found)

    def test_steps(self) -> None:
        self.assertEqual({"workerNode": 3}, numbers.scaled(self.vnfd, "worker_instance", 3))
        with self.assertRaisesRegex(ParameterError, "aspectId: .*master_instance, worker_instance"):
            numbers.scaled(self.vnfd, "worker", 1)


class ShownClusterTest(SimulatedClusterTest):
    """The simulated cluster, as Tacker's APIs would show it."""

    def setUp(self) -> None:
        super().setUp()
        self.build()
        (self.package / "Definitions").mkdir()
        vnfd = yaml.safe_load(_VNFD.read_text())
        vnfd["topology_template"]["node_templates"]["storage_server_CP"] = {
            "type": "tosca.nodes.nfv.VduCp", "requirements": [{"virtual_binding": "storageNode"}]
        }
        (self.package / "Definitions/df.yaml").write_text(yaml.safe_dump(vnfd))

    @property
    def additional_params(self) -> dict[str, Any]:
        return {"k8s_cluster_installation_param": self.params}

    def shown_v1(self) -> dict[str, Any]:
        resources = [
            {"id": m.node.vnfc_id, "vduId": m.node.vdu,
             "computeResource": {"resourceId": m.node.server_id}}
            for m in self.world.machines.values()
        ]
        info = {"flavourId": "complex", "vnfcResourceInfo": resources,
                "additionalParams": self.additional_params}
        metadata = {"mgmtDriverNodeMetadata": "{}", "mgmtDriverSshHostKeys": '{"x": "key"}'}
        return {"id": "vnf-1", "instantiatedVnfInfo": info, "metadata": metadata}

    def v1(self, oldest: tuple[str, ...] = ()) -> InstanceV1:
        machines = self.world.machines
        members = {"worker_instance": [self.machine(a).node.server_id for a in oldest]}
        places = {server: server for server in machines}
        return InstanceV1(
            self.shown_v1(), self.package, "vnf", places, members.__getitem__
        )

    def v2(self, body: dict[str, Any]) -> InstanceV2:
        """The places of VNFCs are theirs; the list begins with the newest."""
        resources, infos = [], []
        for machine in reversed([*self.world.machines.values()]):
            server = machine.node.server_id
            metadata = {"stack_id": f"name/{server}", "vdu_idx": int(server[:12], 16)}
            resources.append({
                "id": f"resource-{server}", "vduId": machine.node.vdu,
                "computeResource": {"resourceId": server}, "metadata": metadata,
            })
            infos.append({"id": f"info-{server}", "vnfcResourceInfoId": f"resource-{server}"})
        info = {"flavourId": "complex", "vnfcResourceInfo": resources, "vnfcInfo": infos,
                "metadata": {"stack_id": "name/vnf"}}
        metadata = {"mgmt_driver_params": json.dumps(self.additional_params)}
        shown = {"id": "vnf-1", "instantiatedVnfInfo": info, "metadata": metadata}
        return InstanceV2(shown, self.package, body)

    def run_operation(self, operation: str, instance: Instance, body: dict[str, Any]) -> Result:
        vnf = Vnf(instance.request(), self.services())
        return run_operation(operation, vnf, instance, body)

    def changing(self, found: Result, phase: str) -> list[str]:
        return [
            line.prediction.reason
            for line in found.lines
            if line.phase == phase and line.prediction.outcome == "changed"
        ]


class InstancesTest(ShownClusterTest):
    def test_v2_notes_an_upgrade_that_failed(self) -> None:
        self.params = {**self.params, "kubernetes_version": "1.36.4"}
        wanted = {"kubernetes_version": "1.37", "drain_timeout": "2m"}
        instance = self.v2({"additionalParams": {MODIFICATION: wanted}})
        instance.request()
        self.assertEqual(wanted, instance.store.load("wanted_params", {}))
        renewal = {MODIFICATION: {"renew_certificates": True}}
        instance = self.v2({"vnfdId": "new", "additionalParams": renewal})
        instance.request()
        self.assertEqual({}, instance.store.load("wanted_params", {}))

    def test_v1_reads_what_hooks_are_given(self) -> None:
        wanted, instance = self.request(), self.v1()
        found = instance.request()
        for name in ("vnf_instance_id", "package", "flavour", "additional_params", "stack_id"):
            self.assertEqual(getattr(wanted, name), getattr(found, name), name)
        self.assertEqual(wanted.vnfcs, found.vnfcs)
        self.assertEqual({"x": "key"}, instance.store.load("ssh_host_keys", {}))
        instance.store.save("ssh_host_keys", {})
        self.assertEqual({}, instance.store.load("ssh_host_keys", None))
        self.assertEqual(1, instance.store.load("nothing", 1))

    def test_v1_shows_empty_text_for_null(self) -> None:
        self.params = {**self.params, "proxy": "", "worker_node": {
            **self.params["worker_node"], "private_key": ""
        }}
        found = self.v1().request().additional_params["k8s_cluster_installation_param"]
        self.assertIsNone(found["proxy"])
        self.assertIsNone(found["worker_node"]["private_key"])
        self.assertEqual([], self.run_operation("terminate", self.v1(), {}).lines)

    def test_scale_in_takes_those_that_tacker_takes(self) -> None:
        body = {"type": "SCALE_IN", "aspectId": "worker_instance", "numberOfSteps": 1}
        names = [self.machine(address).name for address in WORKERS]
        oldest = self.v1(oldest=(WORKERS[1], WORKERS[0]))
        seen = self.run_operation("scale", oldest, body)
        self.assertEqual([names[1]], self.changing(seen, "drain nodes"))
        body["additionalParams"] = USER_DATA
        seen = self.run_operation("scale", self.v2(body), body)
        self.assertEqual([names[1]], self.changing(seen, "drain nodes"))
        body["numberOfSteps"] = 2
        seen = self.run_operation("scale", self.v2(body), body)
        self.assertEqual([", ".join(reversed(names))], self.changing(seen, "drain nodes"))

    def test_scale_out(self) -> None:
        body = {"type": "SCALE_OUT", "aspectId": "worker_instance", "numberOfSteps": 2}
        seen = self.run_operation("scale", self.v1(), body)
        self.assertEqual(8, len(seen.after))
        self.assertEqual(3, len(self.changing(seen, "join nodes")))

    def test_what_is_wrong_with_a_request(self) -> None:
        body: dict[str, Any] = {"numberOfSteps": 0}
        with self.assertRaises(ParameterError) as caught:
            self.run_operation("scale", self.v1(), body)
        self.assertEqual(["type", "numberOfSteps"],
                         [text.partition(":")[0] for text in caught.exception.errors])
        with self.assertRaisesRegex(ParameterError, "v1 API does not change packages"):
            self.run_operation("change-package", self.v1(), {})
        wanted = {"metadata": {MODIFICATION: '{"kubernetes_version": "1.19"}'}}
        with self.assertRaisesRegex(ParameterError, "param.kubernetes_version: "):
            self.run_operation("modify", self.v1(), wanted)

    def test_heal(self) -> None:
        server = self.machine(WORKERS[0]).node.server_id
        for instance, vnfc in (
            (self.v1(), self.ids(WORKERS[0])[0]),
            (self.v2({}), f"info-{server}"),
        ):
            seen = self.run_operation("heal", instance, {"vnfcInstanceId": [vnfc]})
            name = self.machine(WORKERS[0]).name
            self.assertEqual([name], self.changing(seen, "drain nodes"))
            with self.assertRaisesRegex(MgmtDriverError, "does not have the VNFCs .*nobody"):
                self.run_operation("heal", instance, {"vnfcInstanceId": ["nobody"]})

    def test_modify_and_change_of_the_package(self) -> None:
        self.params = {**self.params, "kubernetes_version": "1.36.4"}
        self.world.have("v1.36.4")
        wanted = {"kubernetes_version": "1.37.2"}
        body: dict[str, Any] = {"metadata": {MODIFICATION: json.dumps(wanted)}}
        change: dict[str, Any] = {"additionalParams": {**USER_DATA, MODIFICATION: wanted}}
        for operation, instance, given in (
            ("modify", self.v1(), body),
            ("modify", self.v2(body), body),
            ("change-package", self.v2(change), change),
        ):
            seen = self.run_operation(operation, instance, given)
            self.assertEqual(["v1.36.4 to 1.37.2"] * 2, self.changing(seen, "upgrade workers"))
        del change["additionalParams"][MODIFICATION]
        self.assertEqual([], self.run_operation("change-package", self.v2(change), change).lines)
        (self.package / "pv.yaml").unlink()
        with self.assertRaisesRegex(MgmtDriverError, "the VNF package has no file pv.yaml"):
            self.run_operation("change-package", self.v2(change), change)
        change["additionalParams"]["vdu_params"] = [{}]
        with self.assertRaisesRegex(ParameterError, "vdu_params: no dry run"):
            self.run_operation("change-package", self.v2(change), change)


class ReportTest(ShownClusterTest):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.traces = Path(folder.name)
        self.trace = self.traces / "vnf-1.jsonl"

    def traced(self) -> Any:
        return self.services(trace_folder=self.traces)

    def printed_by(self, operation: str, body: dict[str, Any]) -> report.Report:
        found = report.as_json(self.run_operation(operation, self.v1(), body))
        again: report.Report = json.loads(json.dumps(found))
        return again

    def real(self, *targets: str, operation: str) -> Any:
        return dataclasses.replace(self.request(*targets), operation=operation)

    def test_a_table_by_machine(self) -> None:
        targets = self.ids(WORKERS[0])
        lines = [*report.table(self.printed_by("heal", {"vnfcInstanceId": targets}))]
        self.assertEqual("heal of VNF vnf-1: a dry run, nothing was changed", lines[0])
        name = self.machine(WORKERS[0]).name
        heads = [line for line in lines[1:] if line and not line.startswith(" ")]
        self.assertEqual(6, len(heads))
        self.assertIn("workerNode (VNFC worker-10.10.0.10, 10.10.0.10) is replaced", heads)
        self.assertIn("masterNode (VNFC master-10.10.0.1, 10.10.0.1) stays", heads)
        (drain,) = (line.split(None, 6) for line in lines if line.startswith("  drain nodes"))
        self.assertEqual(["drain", "nodes", "would", "change", name], drain)

    def test_the_guide_shows_it(self) -> None:
        """The output in the guide, which a change of the table makes old."""
        targets = self.ids(WORKERS[0])
        lines = report.table(self.printed_by("heal", {"vnfcInstanceId": targets}))
        shown = (CHECKOUT / "doc/source/outputs/dry-run.txt").read_text()
        self.assertEqual(shown.splitlines()[1:], [*lines])

    def test_the_same_lines(self) -> None:
        body = {"type": "SCALE_OUT", "aspectId": "worker_instance", "numberOfSteps": 1}
        printed = self.printed_by("scale", body)
        new = self.arrive(new_node("worker", 20, "10.10.0.20")).node
        request = self.real(new.vnfc_id, operation="scale out")
        scale_out.scale_out(request, self.traced(), self.vims)
        seen = report.compare(printed, self.trace)
        self.assertEqual([], seen.wrong)
        self.assertIn("would change   changed    join nodes, workerNode (new)", seen.lines)
        self.assertFalse([line for line in seen.lines if line.startswith("- ")])

    def test_the_last_heal_of_several(self) -> None:
        for address in (WORKERS[0], MASTERS[0]):
            targets = self.ids(address)
            printed = self.printed_by("heal", {"vnfcInstanceId": targets})
            node = self.machine(address).node
            request = self.real(*targets, operation="heal")
            heal.heal_start(request, self.traced(), self.vims)
            self.replaced(node)
            request = self.real(*targets, operation="heal")
            heal.heal_end(request, self.traced(), self.vims)
            self.assertEqual([], report.compare(printed, self.trace).wrong)

    def test_a_heal_of_the_whole_that_gives_machines_other_vnfcs(self) -> None:
        """As Tacker's v1 API does, which makes a new stack."""
        printed = self.printed_by("heal", {})
        heal.heal_start(self.real(operation="heal"), self.traced(), self.vims)
        for machine in list(self.world.machines.values()):
            new = self.replaced(machine.node)
            successor = self.world.machines[new.server_id]
            successor.node = dataclasses.replace(new, vnfc_id=f"other-{new.vnfc_id}")
        self.world.nodes, self.world.members, self.world.volumes = {}, [], {}
        heal.heal_end(self.real(operation="heal"), self.traced(), self.vims)
        seen = report.compare(printed, self.trace)
        self.assertEqual([], seen.wrong)
        self.assertIn("would change   changed    join nodes, workerNode (new)", seen.lines)

    def test_what_contradicts(self) -> None:
        self.params = {**self.params, "kubernetes_version": "1.36.4"}
        self.world.have("v1.36.4")
        body = {"metadata": {MODIFICATION: '{"kubernetes_version": "1.37.2"}'}}
        printed = self.printed_by("modify", body)
        request = self.real(operation="upgrade")
        wanted = {"kubernetes_version": "1.37.2"}
        modify.modify(request, self.traced(), self.vims, wanted)
        self.assertEqual([], report.compare(printed, self.trace).wrong)
        again = self.printed_by("modify", body)
        self.assertTrue(any(
            "upgrade the cluster, masterNode (master-10.10.0.1): changed, and was not predicted"
            in line for line in report.compare(again, self.trace).wrong
        ))
        modify.modify(request, self.traced(), self.vims, wanted)
        self.assertTrue(any(
            "predicted to change, and did not" in line
            for line in report.compare(printed, self.trace).wrong
        ))
        self.assertEqual([], report.compare(again, self.trace).wrong)

    def test_command(self) -> None:
        printed = self.traces / "report.json"
        printed.write_text(json.dumps(self.printed_by("terminate", {})))
        self.trace.write_text("")
        status, _, errors = run("compare", str(printed), str(self.trace))
        self.assertEqual(3, status)
        self.assertIn("error: ", errors)
        printed.write_text("[]")
        self.assertIn("is not a report", run("compare", str(printed), str(self.trace))[2])


def run(*words: str) -> tuple[int, str, str]:
    """Exit status and output of the command, which knows no cloud."""
    out, errors = io.StringIO(), io.StringIO()
    with (
        mock.patch.dict("os.environ"),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
    ):
        for name in ("OS_CLOUD", "OS_AUTH_URL"):
            os.environ.pop(name, None)
        status = main(["plan", *words])
    return status, out.getvalue(), errors.getvalue()


class InstantiateTest(unittest.TestCase):
    """The guide's requests and the packages, without a cloud."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def csar(self, name: str, *overlays: str) -> str:
        path = self.folder / f"{name}.zip"
        folders = [build.folder_of(overlay, build.OVERLAYS) for overlay in overlays]
        build.build(build.folder_of(name), path, {}, folders, "", say=lambda text: None)
        return str(path)

    def test_requests_of_the_guide(self) -> None:
        for package, overlays, request, machines in (
            ("kubernetes", (), "kubernetes/simple", 3),
            ("kubernetes", (), "kubernetes/complex", 5),
            ("kubernetes", ("storage",), "kubernetes/complex_storage", 6),
            ("kubernetes", ("pools",), "kubernetes/simple_pools", 4),
        ):
            with self.subTest(request):
                csar = self.csar(package, *overlays)
                path = str(REQUESTS / f"{request}.json")
                status, said, errors = run("instantiate", "--package", csar, path, "-o", "json")
                self.assertEqual((0, ""), (status, errors))
                printed = json.loads(said)
                self.assertEqual(["comes"] * machines, [m["becomes"] for m in printed["machines"]])
                status, said, _ = run("instantiate", "--package", csar, path)
                self.assertIn("initialize the control plane", said)
                self.assertNotIn("ubuntu", said)

    def misused(self, *words: str) -> str:
        """The error of a wrong usage."""
        with contextlib.redirect_stderr(io.StringIO()) as errors, self.assertRaises(SystemExit):
            main(["plan", *words])
        return errors.getvalue()

    def test_every_fault_has_its_path(self) -> None:
        path = self.folder / "request.json"
        params = {"k8s_cluster_installation_param": {"odd": 1, "pod_cidr": 2}}
        envelope = json.loads((REQUESTS / "kubernetes/complex.json").read_text())
        path.write_text(json.dumps({**envelope, "additionalParams": params}))
        csar = self.csar("kubernetes")
        status, said, errors = run("instantiate", "--package", csar, str(path))
        self.assertEqual((1, ""), (status, said))
        lines = errors.splitlines()
        self.assertGreater(len(lines), 3)
        for line in lines:
            self.assertRegex(line, r"^refused: k8s_cluster_installation_param\b")
        bodies: tuple[tuple[dict[str, Any], str], ...] = (
            ({"flavourId": 1}, "refused: flavourId: must name"),
            ({"flavorId": "complex"}, "refused: flavorId: unknown; a request to instantiate has"),
            ({"flavourId": "none"}, "refused: [KV-PACKAGE] the VNF package has no flavour none"),
        )
        for body, words in bodies:
            path.write_text(json.dumps({**envelope, **body}))
            self.assertIn(words, run("instantiate", "--package", csar, str(path))[2])
        self.assertIn("required: --package", self.misused("instantiate", str(path)))
        path.write_text("[]")
        errors = self.misused("instantiate", "--package", csar, str(path))
        self.assertIn("no request: an object is needed", errors)

    def test_v2_wants_its_user_data(self) -> None:
        words = ("instantiate", "--package", self.csar("kubernetes_v2"))
        body = json.loads((REQUESTS / "kubernetes/complex.json").read_text())
        body["vimConnectionInfo"][0]["vimId"] = "vim"
        body = V2().instantiation(body)
        path = self.folder / "own.json"
        path.write_text(json.dumps({**body, "additionalParams": {}}))
        status, _, errors = run(*words, str(path))
        self.assertEqual(1, status)
        self.assertIn("lcm-operation-user-data: missing", errors)
        path.write_text(json.dumps(body))
        self.assertEqual(0, run(*words, str(path))[0])
        status, _, errors = run(*words, "--api", "1", str(path))
        self.assertEqual(1, status)
        self.assertIn("refused: vimConnectionInfo: is written as Tacker's v2 API has it", errors)

    def test_a_folder_of_sources_has_all_flavours(self) -> None:
        request = str(REQUESTS / "kubernetes/complex.json")
        for package in ("kubernetes", str(PACKAGES / "kubernetes")):
            status, _, errors = run("instantiate", "--package", package, request)
            self.assertEqual((0, ""), (status, errors))

    def test_what_is_no_package(self) -> None:
        path = self.folder / "file"
        path.touch()
        with self.assertRaisesRegex(ClientError, "is not a VNF package"), unpacked(path):
            pass
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("../x", "")
        with self.assertRaisesRegex(ClientError, "'../x' is not a path below"), unpacked(path):
            pass


class CloudTest(unittest.TestCase):
    def setUp(self) -> None:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("Definitions/df.yaml", "{}")
        server, group = "OS::Nova::Server", "OS::Heat::AutoScalingGroup"
        stack = "/stacks/name-of-s1/s1"
        members = [
            {**resource(name, "x.yaml", name), "creation_time": time}
            for name, time in (("b", "2026-01-02"), ("c", "2026-01-01"), ("a", "2026-01-01"))
        ]
        self.heat = Orchestration({
            "/stacks?show_nested=true": {"stacks": [
                {"id": "s1", "stack_name": "vnflcm_vnf-1"},
                {"id": "a", "stack_name": "vnflcm_vnf-1-group-a"},
            ]},
            "/stacks/vnflcm_vnf-1/s1/resources": {"resources": []},
            "/stacks/vnflcm_vnf-1-group-a/a/resources": {
                "resources": [resource("worker", server, "server-1")]
            },
            f"{stack}/resources": {"resources": [resource("group", group, "g1")]},
            "/stacks/name-of-g1/g1/resources": {"resources": members},
        })
        self.connection = mock.Mock(orchestration=self.heat)
        self.connection.session.get.return_value.content = content.getvalue()
        self.heat.find_stack = lambda *_, **__: mock.Mock(id="s1")  # type: ignore[attr-defined]
        self.client = mock.Mock()
        self.client.show_vnf_instance.return_value = {
            "id": "vnf-1", "vnfdId": "vnfd-1", "instantiationState": "INSTANTIATED"
        }
        self.client.list_vnf_packages.return_value = {
            "vnf_packages": [{"id": "p0"}, {"id": "p1", "vnfdId": "vnfd-1"}]
        }
        self.cloud = Cloud(self.connection, self.client, "1")

    def test_the_oldest_members_of_a_group(self) -> None:
        self.assertEqual(["a", "c", "b"], stacks.members(self.connection, "s1", "group"))
        with self.assertRaisesRegex(ClientError, "stack s1 has no resource other"):
            stacks.members(self.connection, "s1", "other")

    def test_an_instance_and_its_package(self) -> None:
        shown = self.client.show_vnf_instance("vnf-1")
        with self.cloud.package(shown["vnfdId"]) as package:
            self.assertTrue((package / "Definitions/df.yaml").exists())
            instance = self.cloud.instance(shown, package, {})
        assert isinstance(instance, InstanceV1)
        self.assertEqual({"server-1": "a"}, dict(instance._stacks))
        self.assertEqual(["a", "c", "b"], instance._members("group"))
        with self.assertRaisesRegex(ClientError, "no VNF package"), self.cloud.package("other"):
            pass

    def test_what_is_not_instantiated(self) -> None:
        self.client.show_vnf_instance.return_value = {"instantiationState": "NOT_INSTANTIATED"}
        vnf = lcm.Vnf(self.client, "vnf-1", "one")
        with self.assertRaisesRegex(ClientError, "one is not instantiated"):
            run_on(self.connection, vnf, "terminate", {})

    def test_names_of_vims(self) -> None:
        described = "Kubernetes cluster of VNF instance vnf-1"
        self.client.list_vims.return_value = {"vims": [
            {"id": "1", "name": "mine", "description": "of people", "tenant_id": "mine"},
            {"id": "2", "name": "old", "description": described, "tenant_id": "mine"},
            {"id": "3", "name": "theirs", "description": described, "tenant_id": "theirs"},
        ]}
        self.connection.current_project_id = "mine"
        shown = {"id": "vnf-1", "metadata": {"mgmt_driver_vim": '"1"'}}
        names = ("mine", "old", "theirs", "free")
        taken = [self.cloud.is_taken(name, shown) for name in names]
        self.assertEqual([False, False, True, False], taken)
