"""The files for Prometheus and Alertmanager, which a Tacker in memory and folders show."""

import contextlib
import io
import json
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.monitoring import monitoring
from mgmt_drivers.cluster.self_healing import rails
from mgmt_drivers.engine.services import KEY_PREFIX
from mgmt_drivers.tacker.v2 import PARAMS, CallStore
from tools.client.lcm import Vnf
from tools.csar.tests.genuine import needs_openstack
from tools.k8s_vnf.app import main
from tools.monitoring import cli
from tools.monitoring.folder import Folder
from tools.monitoring.refusals import end_refused
from tools.monitoring.update import Updater

FILES = Path(cli.__file__).parent / "files"
RULES = yaml.safe_load((FILES / "rules" / "k8s_vnf.yml").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"] if "alert" in rule]
A, B = "3d7ab05e-91c2-4648-8f00-5f6a1c0de2b7", "94e6a1d8-3c70-452f-8c41-d7e2a95b3f06"
SERVERS = {"masterNode": "197cbb34-4353-0000", "workerNode": "2af00000-1111-0000"}
ADDRESSES = {
    SERVERS["masterNode"]: {"masterNode_CP1": "10.0.0.5", "other": "10.9.9.9"},
    SERVERS["workerNode"]: {"workerNode_CP2": "10.0.0.6", "worker_fip": "203.0.113.6"},
}
GROUPS = {
    "master_node": {"ssh_cp_name": "masterNode_CP1", "nic_cp_name": "masterNode_CP1"},
    "worker_node": {"ssh_cp_name": "worker_fip", "nic_cp_name": "workerNode_CP2"},
}


def instance(vnf_id: str = A, heals: bool = True, **params: Any) -> dict[str, Any]:
    """A cluster as Tacker's v2 API shows it, with a master and a worker."""
    resources, infos = [], []
    for number, (vdu, cp) in enumerate(
        (("masterNode", "masterNode_CP1"), ("workerNode", "workerNode_CP2"))
    ):
        resources.append({
            "id": f"resource-{number}",
            "vduId": vdu,
            "computeResource": {"resourceId": SERVERS[vdu]},
            "vnfcCpInfo": [{"id": "x", "cpdId": cp}],
        })
        infos.append({
            "id": f"{vdu}-resource-{number}", "vduId": vdu,
            "vnfcResourceInfoId": f"resource-{number}",
        })
    kept = {"k8s_cluster_installation_param": {**GROUPS, **params}}
    return {
        "id": vnf_id,
        "vnfInstanceName": "web" if vnf_id == A else "",
        "instantiationState": "INSTANTIATED",
        "vnfConfigurableProperties": {"isAutohealEnabled": heals},
        "metadata": {f"{KEY_PREFIX}{PARAMS}": json.dumps(kept)},
        "instantiatedVnfInfo": {"vnfcResourceInfo": resources, "vnfcInfo": infos},
    }


class Tacker:
    """Tacker's client; each instance is listed without what only its show has."""

    def __init__(self, *instances: dict[str, Any]) -> None:
        self.instances = {shown["id"]: shown for shown in instances}
        self.occurrences: dict[str, dict[str, Any]] = {}

    def list_vnf_instances(self) -> list[dict[str, Any]]:
        names = ("id", "vnfInstanceName", "instantiationState")
        return [{name: shown[name] for name in names} for shown in self.instances.values()]

    def show_vnf_instance(self, vnf_id: str) -> dict[str, Any]:
        return self.instances[vnf_id]

    def list_vnf_lcm_op_occs(self, filter: str) -> list[dict[str, Any]]:
        return [
            {name: value for name, value in shown.items() if name != "error"}
            for shown in self.occurrences.values()
            if shown["vnfInstanceId"] in filter
        ]

    def show_vnf_lcm_op_occs(self, occurrence_id: str) -> dict[str, Any]:
        return self.occurrences[occurrence_id]

    def fail_vnf_instance(self, occurrence_id: str) -> None:
        self.occurrences[occurrence_id]["operationState"] = "FAILED"


class FolderTest(unittest.TestCase):
    def setUp(self) -> None:
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.path = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        self.said: list[str] = []
        self.folder = Folder(self.path, self.said.append)


class TargetsTest(FolderTest):
    def setUp(self) -> None:
        super().setUp()
        self.tacker = Tacker(instance())
        self.heat = mock.Mock(return_value=ADDRESSES)
        self.updater = Updater(self.folder, (), self.heat)

    def update(self) -> list[str]:
        client: Any = self.tacker
        self.said.clear()
        return self.updater.update(Vnf.all(client))

    def targets(self, vnf_id: str = A) -> list[Any]:
        targets: list[Any] = json.loads((self.path / "targets" / f"{vnf_id}.json").read_text())
        return targets

    def files(self) -> list[str]:
        return sorted(path.name for path in self.path.glob("targets/*"))

    def test_each_machine_has_the_labels_of_an_alert_for_tacker(self) -> None:
        """Tacker compares vnfc_info_id with vnfcInfo; the address is that of ssh_cp_name."""
        self.assertEqual([], self.update())
        master, worker = self.targets()
        self.assertEqual(["10.0.0.5:9100"], master["targets"])
        self.assertEqual(["203.0.113.6:9100"], worker["targets"])
        self.assertEqual(
            {
                "vnf_instance_id": A,
                "vnfc_info_id": "workerNode-resource-1",
                "vdu": "workerNode",
                "role": "worker",
                "node": "worker-2af000001111",
                "aspect_id": "worker_instance",
            },
            worker["labels"],
        )
        self.assertEqual("master", master["labels"]["role"])
        self.assertNotIn("aspect_id", master["labels"])

    def test_the_port_is_that_of_the_request(self) -> None:
        self.tacker.instances[A] = instance(monitoring={"port": 9200})
        self.update()
        self.assertEqual(["10.0.0.5:9200"], self.targets()[0]["targets"])

    def modify(self, patch: dict[str, Any]) -> None:
        """Keep a modification as the driver does."""
        changed_params.save(CallStore(self.tacker.instances[A], {}), patch)

    def test_a_modification_changes_the_port_and_takes_it_back(self) -> None:
        self.tacker.instances[A] = instance(monitoring={"port": 9200})
        self.update()
        for patch, port in (({"port": 9300}, 9300), ({"port": None}, 9100), (None, 9100)):
            self.modify({"monitoring": patch})
            self.assertEqual([], self.update())
            self.assertEqual([f"10.0.0.5:{port}"], self.targets()[0]["targets"])

    def test_a_modification_begins_and_ends_monitoring(self) -> None:
        for before, patch in ((None, {}), ({}, None)):
            self.tacker.instances[A] = instance(heals=False, monitoring=before)
            self.update()
            self.assertEqual([f"{A}.json"] * (before is not None), self.files())
            self.modify({"monitoring": patch})
            self.assertEqual([], self.update())
            self.assertEqual([f"{A}.json"] * (patch is not None), self.files())

    def test_an_unmanaged_machine_is_no_target(self) -> None:
        (resource, _) = self.tacker.instances[A]["instantiatedVnfInfo"]["vnfcResourceInfo"]
        resource["vnfcCpInfo"][0]["cpdId"] = "another_CP"
        self.update()
        self.assertEqual(["worker"], [target["labels"]["role"] for target in self.targets()])

    def test_the_storage_server_has_its_role(self) -> None:
        self.tacker.instances[A] = instance(
            worker_node=None, storage_server={"ssh_cp_name": "workerNode_CP2"}
        )
        self.update()
        self.assertEqual(["master", "storage"], [t["labels"]["role"] for t in self.targets()])

    def test_workers_of_every_pool_are_targets(self) -> None:
        pool = GROUPS["worker_node"]
        self.tacker.instances[A] = instance(
            worker_node={"ssh_cp_name": "CP", "nic_cp_name": "CP"}, worker_pools=[pool]
        )
        self.update()
        self.assertEqual(["master", "worker"], [t["labels"]["role"] for t in self.targets()])

    def test_workers_have_the_aspect_of_their_pool(self) -> None:
        """Tacker scales a pool by its aspect; a pool without one is not scaled."""
        own, pool = {"ssh_cp_name": "CP", "nic_cp_name": "CP"}, GROUPS["worker_node"]
        for aspect, worker, pools in (
            ("data", own, [{**pool, "aspect_id": "data"}]),
            (None, {**own, "aspect_id": "workers"}, [pool]),
            ("workers", {**pool, "aspect_id": "workers"}, [own]),
            ("worker_instance", {**pool, "aspect_id": None}, None),
        ):
            self.tacker.instances[A] = instance(worker_node=worker, worker_pools=pools)
            self.update()
            self.assertEqual(aspect, self.targets()[1]["labels"].get("aspect_id"))

    def test_only_clusters_that_are_to_be_monitored(self) -> None:
        scaled, reported = instance(heals=False), instance(B, heals=False, monitoring=None)
        self.tacker.instances = {A: scaled, B: reported}
        self.assertEqual(([], []), (self.update(), self.files()))
        scaled["vnfConfigurableProperties"] = {"isAutoscaleEnabled": True}
        reported["metadata"] = instance(B, monitoring={})["metadata"]
        self.update()
        self.assertEqual([f"{A}.json", f"{B}.json"], self.files())
        scaled["metadata"] = {"another": "driver's"}
        self.assertEqual([], self.update())
        self.assertEqual([f"{B}.json"], self.files())

    def test_a_named_cluster_needs_no_property(self) -> None:
        self.tacker = Tacker(instance(heals=False), instance(B))
        self.updater.names = ["web"]
        self.assertEqual([], self.update())
        self.assertEqual([f"{A}.json"], self.files())

    def test_a_named_instance_must_be_a_cluster(self) -> None:
        self.tacker.instances[A]["metadata"] = {}
        self.updater.names = ["web"]
        (fault,) = self.update()
        self.assertIn("VNF web: is no cluster", fault)

    def test_a_name_that_tacker_does_not_know_is_a_fault(self) -> None:
        self.updater.names = ["web", "unknown"]
        self.assertEqual(
            ["there is no VNF instance unknown in Tacker's v2 API"], self.update()
        )
        self.assertEqual([f"{A}.json"], self.files())

    def test_what_has_not_changed_is_not_written_and_heat_not_asked(self) -> None:
        self.update()
        before = (self.path / "targets" / f"{A}.json").stat().st_ino
        self.update()
        self.assertEqual([], self.said)
        self.assertEqual(before, (self.path / "targets" / f"{A}.json").stat().st_ino)
        self.heat.assert_called_once_with(A)

    def test_a_healed_machine_takes_the_place_of_the_old_one(self) -> None:
        self.update()
        info = self.tacker.instances[A]["instantiatedVnfInfo"]
        info["vnfcResourceInfo"][1]["computeResource"]["resourceId"] = "77777777-7777-7777"
        info["vnfcInfo"][1]["id"] = "workerNode-new"
        self.heat.return_value = {"77777777-7777-7777": {"worker_fip": "203.0.113.7"}}
        self.assertEqual([], self.update())
        self.assertEqual(
            [["10.0.0.5:9100"], ["203.0.113.7:9100"]], [t["targets"] for t in self.targets()]
        )
        self.assertEqual("workerNode-new", self.targets()[1]["labels"]["vnfc_info_id"])

    def test_a_machine_that_openstack_has_lost_stays_a_target(self) -> None:
        """Nova takes the deleted server's id off the port; the machine is to be healed."""
        self.update()
        self.heat.return_value = {}
        self.updater = Updater(self.folder, (), self.heat)  # it was started again
        self.assertEqual([], self.update())
        self.assertEqual(2, len(self.targets()))

    def test_a_machine_without_an_address_does_not_hide_the_others(self) -> None:
        self.heat.return_value = {SERVERS["masterNode"]: ADDRESSES[SERVERS["masterNode"]]}
        (fault,) = self.update()
        self.assertIn("worker-2af000001111 (worker_fip), of which Heat shows no address", fault)
        self.assertEqual([["10.0.0.5:9100"]], [t["targets"] for t in self.targets()])

    def test_a_cluster_that_is_gone_has_no_file(self) -> None:
        other = self.path / "targets" / "other.json"
        other.parent.mkdir()
        other.write_text("[]")
        self.tacker.instances[B] = instance(B)
        self.update()
        del self.tacker.instances[A]
        self.tacker.instances[B]["instantiationState"] = "NOT_INSTANTIATED"
        self.update()
        self.assertEqual(["other.json"], self.files())
        self.assertEqual(2, len(self.said))

    def test_a_named_cluster_that_is_gone_leaves_the_others(self) -> None:
        self.tacker.instances[B] = instance(B)
        self.update()
        self.updater = Updater(self.folder, ["web"], self.heat)
        self.update()
        del self.tacker.instances[A], self.tacker.instances[B]
        self.update()
        self.assertEqual([f"{B}.json"], self.files())

    def test_a_fault_of_heat_leaves_the_file_and_the_other_clusters(self) -> None:
        self.update()
        self.tacker.instances[A]["instantiatedVnfInfo"]["vnfcResourceInfo"][1][
            "computeResource"]["resourceId"] = "new"
        self.tacker.instances[B] = instance(B)
        self.heat.side_effect = [OSError("Heat is away"), ADDRESSES]
        self.assertEqual(["VNF web: Heat is away"], self.update())
        self.assertEqual([f"{A}.json", f"{B}.json"], self.files())

    def test_a_damaged_file_is_made_anew(self) -> None:
        self.update()
        before = self.targets()
        for text in ("[", '[{"targets": []}]', "7"):
            (self.path / "targets" / f"{A}.json").write_text(text)
            self.assertEqual([], self.update(), text)
            self.assertEqual(before, self.targets())


class RefusalTest(unittest.TestCase):
    """Heals that a guard rail has refused, of which Tacker waits for an end."""

    def states(self, *details: str) -> list[str]:
        """The states of operations with these errors, one after another, after a look."""
        tacker = Tacker(instance())
        for number, detail in enumerate(details):
            tacker.occurrences[str(number)] = {
                "id": str(number), "vnfInstanceId": A, "startTime": str(number),
                "operation": "HEAL",
                "operationState": "FAILED_TEMP" if detail else "COMPLETED",
                **({"error": {"detail": detail}} if detail else {}),
            }
        self.said: list[str] = []
        client: Any = tacker
        self.faults = end_refused(Vnf.all(client), self.said.append)
        return [shown["operationState"] for shown in tacker.occurrences.values()]

    def test_a_refused_heal_is_ended(self) -> None:
        refusal = str(rails.refusal("quorum", [], "two of three are dead", "Heal all"))
        self.assertEqual(["FAILED"], self.states(refusal))
        self.assertIn(refusal, self.said[0])
        self.assertEqual([], self.faults)

    def test_other_operations_are_a_persons(self) -> None:
        self.assertEqual(["FAILED_TEMP"], self.states("heal failed: no route to host"))
        (told,) = self.faults
        self.assertIn("VNF web: operation 0 (HEAL) is FAILED_TEMP: nothing is healed", told)
        self.assertIn("vnflcm op show 0", told)
        refusal = str(rails.refusal("quorum", [], "two of three are dead", "Heal all"))
        self.assertEqual(["FAILED_TEMP", "COMPLETED"], self.states(refusal, ""))
        self.assertEqual(([], []), (self.said, self.faults))

    def test_a_fault_of_tacker_is_told(self) -> None:
        vnf = mock.Mock(name="vnf", **{"occurrences.side_effect": OSError("no route")})
        vnf.name = "web"
        told = ["VNF web: a refused heal cannot be ended: no route"]
        self.assertEqual(told, end_refused([vnf], print))


class ConfigurationTest(FolderTest):
    def test_files_are_written_once_and_then_belong_to_people(self) -> None:
        self.folder.configure("http://tacker:9890/", False)
        text = (self.path / "alertmanager.yml").read_text()
        self.assertIn("- url: http://tacker:9890/alert/auto_healing\n", text)
        (self.path / "alertmanager.yml").write_text("mine")
        self.said.clear()
        self.folder.configure("http://tacker:9890/", False)
        self.assertEqual("mine", (self.path / "alertmanager.yml").read_text())
        self.assertEqual(
            [f"kept {self.path}/alertmanager.yml, which differs; --replace replaces it"], self.said
        )
        self.folder.configure("http://tacker:9890/", True)
        self.assertEqual(text, (self.path / "alertmanager.yml").read_text())

    def test_everybody_may_read_the_files(self) -> None:
        """Prometheus and Alertmanager run as users of their own."""
        self.folder.configure("http://tacker:9890", False)
        modes = [path.stat().st_mode & 0o444 for path in self.path.rglob("*.yml")]
        self.assertEqual([0o444] * 3, modes)

    def test_a_disk_is_full_for_the_alert_as_for_the_driver(self) -> None:
        """Otherwise the driver refuses the heal, since the machine is well."""
        (rule,) = (rule for rule in ALERTS if rule["alert"] == "DiskFull")
        self.assertIn(f"[2m]) < {monitoring.LEAST_FREE} ", rule["expr"])


@needs_openstack
class AlertsTest(unittest.TestCase):
    def test_tacker_takes_each_alert(self) -> None:
        from jsonschema import validate
        from tacker.sol_refactored.api.schemas import prometheus_plugin_schemas

        target = {"vnf_instance_id": A, "vnfc_info_id": "w-1", "node": "w", "role": "worker"}
        alerts = [
            {
                "status": "firing",
                "labels": {**target, "alertname": rule["alert"], **rule["labels"]},
                "annotations": rule["annotations"],
                "startsAt": "2026-01-01T00:00:00Z",
                "fingerprint": "f",
            }
            for rule in ALERTS
            if "receiver_type" in rule["labels"]
        ]
        self.assertEqual(7, len(alerts))
        for alert in alerts:
            validate({"alerts": [alert]}, prometheus_plugin_schemas.AlertMessage)
            scales = alert["labels"]["function_type"] == "auto_scale"
            self.assertEqual(scales, "auto_scale_type" in alert["labels"])


class RulesTest(unittest.TestCase):
    """The scenario ``Rules`` of ``autoheal`` tests the times, by promtool with rules_test.yml."""

    def test_each_heal_is_guarded_by_a_look_at_the_api(self) -> None:
        guard = "and on (vnf_instance_id) k8s_vnf:api_ready == 1"
        heals = [rule for rule in ALERTS if rule["labels"].get("function_type") == "auto_heal"]
        self.assertEqual(
            ["MachineUnreachable", "KubeletGone", "NodeNotReady", "EtcdMemberGone", "DiskFull"],
            [rule["alert"] for rule in heals],
        )
        for rule in heals:
            self.assertTrue(rule["expr"].endswith(guard), rule["alert"])

    def test_each_pool_scales_by_its_own_load(self) -> None:
        """An alert has the labels that its expression keeps; Tacker needs these two to scale."""
        (scaling,) = (group for group in RULES["groups"] if group["name"] == "k8s_vnf_scale")
        for rule in scaling["rules"]:
            self.assertNotIn("aspect_id", rule.get("labels", {}))
            for labels in re.findall(r"\bby \((.*?)\)", rule["expr"]):
                kept = {"vnf_instance_id", "aspect_id"}
                self.assertLessEqual(kept, {*labels.split(", ")}, rule["expr"])
            for machines in re.findall(r'\{(.*?role="worker".*?)\}', rule["expr"]):
                self.assertIn('aspect_id!=""', machines)

    def test_promtool_has_a_test_of_each_alert(self) -> None:
        text = (Path(__file__).parent / "rules_test.yml").read_text()
        tested = {*re.findall(r'alertname[:=] ?"?(\w+)', text)}
        self.assertEqual({rule["alert"] for rule in ALERTS}, tested)

    def test_only_alerts_of_one_function_are_in_a_message_to_tacker(self) -> None:
        """Tacker refuses a message as a whole, and answers 204 to it."""
        text = (FILES / "alertmanager.yml").read_text()
        config = yaml.safe_load(text)
        urls = {
            receiver["name"]: receiver["webhook_configs"][0]["url"]
            for receiver in config["receivers"]
            if "webhook_configs" in receiver
        }
        for route in config["route"]["routes"]:
            kind = re.findall('"(.*)"', route["matchers"][1])[0]
            self.assertIn('receiver_type="tacker"', route["matchers"])
            name = {"auto_heal": "auto_healing", "auto_scale": "auto_scaling"}[kind]
            self.assertEqual(f"TACKER_URL/alert/{name}", urls[route["receiver"]])


class CommandTest(FolderTest):
    def run_command(self, *arguments: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(["monitoring", str(self.path), *arguments])
        return status, out.getvalue(), err.getvalue()

    def clouds(self, *listed: Any) -> Any:
        """What Tacker lists at each look; an exception is raised."""
        client = Tacker(instance())
        looks = mock.Mock(side_effect=listed)
        self.stack.enter_context(mock.patch.object(client, "list_vnf_instances", looks))
        connection = mock.Mock()
        connection.endpoint_for.return_value = "http://tacker:9890/"
        self.stack.enter_context(mock.patch.object(cli, "cloud", return_value=connection))
        self.stack.enter_context(mock.patch.object(cli, "tacker", return_value=client))
        read = mock.Mock(return_value=ADDRESSES)
        self.stack.enter_context(mock.patch.object(cli.stacks, "named_addresses", read))
        return self.stack.enter_context(mock.patch.object(cli.time, "sleep"))

    def test_help_does_not_act(self) -> None:
        cloud = self.stack.enter_context(mock.patch.object(cli, "cloud"))
        with self.assertRaises(SystemExit) as ended:
            self.run_command("--all", "--watch", "--help")
        self.assertEqual(0, ended.exception.code)
        cloud.assert_not_called()
        self.assertEqual([], [*self.path.iterdir()])

    def test_one_look(self) -> None:
        listed = Tacker(instance()).list_vnf_instances()
        self.clouds(listed)
        status, _, err = self.run_command("--all")
        self.assertEqual((0, ""), (status, err))
        files = {str(path.relative_to(self.path)) for path in self.path.rglob("*.*")}
        self.assertEqual(
            {"alertmanager.yml", "prometheus.yml", "rules/k8s_vnf.yml", f"targets/{A}.json"}, files
        )

    def test_one_look_tells_that_tacker_is_down(self) -> None:
        self.clouds(OSError("no route"))
        status, _, err = self.run_command("--all")
        self.assertEqual((3, "monitoring: the files cannot be made: no route\n"), (status, err))

    def test_a_watch_outlives_tacker_and_tells_of_it_once(self) -> None:
        listed = Tacker(instance()).list_vnf_instances()
        sleep = self.clouds(
            listed, OSError("no route"), OSError("no route"), listed, [], KeyboardInterrupt
        )
        status, out, err = self.run_command("--all", "--watch")
        self.assertEqual(0, status)
        self.assertEqual(1, err.count("no route"))
        self.assertEqual(2, out.count("all is up to date"))
        self.assertEqual(5, sleep.call_count)
        self.assertTrue(out.endswith(f"removed {self.path}/targets/{A}.json\n"))
        self.assertEqual([], [*self.path.glob("targets/*")])

    def test_only_a_watch_ends_refused_heals(self) -> None:
        listed = Tacker(instance()).list_vnf_instances()
        ended = self.stack.enter_context(mock.patch.object(cli, "end_refused", return_value=[]))
        self.clouds(listed)
        self.run_command("--all")
        ended.assert_not_called()
        self.clouds(listed, KeyboardInterrupt)
        self.run_command("--all", "--watch")
        self.assertEqual([A], [vnf.id for vnf in ended.call_args.args[0]])

    def test_a_watch_may_begin_before_the_cloud(self) -> None:
        listed = Tacker(instance()).list_vnf_instances()
        self.clouds(listed, KeyboardInterrupt)
        connections = mock.Mock(side_effect=[OSError("Keystone"), cli.cloud()])
        with mock.patch.object(cli, "cloud", connections):
            status, _, err = self.run_command("--all", "--watch")
        self.assertIn("Keystone", err)
        self.assertTrue((self.path / "targets" / f"{A}.json").exists())
        self.assertEqual(0, status)
