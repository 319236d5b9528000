"""Add-ons: manifests and charts of the VNF package in the cluster."""

import io
import json
import os
import subprocess
import tarfile
import tempfile
import unittest
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from mgmt_drivers.cluster.addons import addons
from mgmt_drivers.cluster.addons.addon_phases import ApplyAddons
from mgmt_drivers.cluster.cluster_checks import read_params
from mgmt_drivers.engine.dry_run import DryRun
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import MgmtDriverError, ParameterError
from mgmt_drivers.machine.script import Script
from mgmt_drivers.operations import modify
from mgmt_drivers.testing.fakes import FakeClock
from mgmt_drivers.testing.simulated_cloud import PARAMS, STORAGE, SimulatedClusterTest
from mgmt_drivers.testing.simulation import SimulatedSession

_RECORD = "configmap/tacker-mgmt-drivers-addons"
_FLANNEL = "daemonset.apps/flannel"


def _object(kind: str, name: str, version: str = "v1", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **fields.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def _deployment(name: str, image: str = "example.com/metrics/server:v1") -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "a", "image": image}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    return _object("Deployment", name, "apps/v1", spec=spec)


def _chart() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo("a/Chart.yaml")
        archive.addfile(entry, io.BytesIO())
    return buffer.getvalue()


class AddonsTest(SimulatedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build(is_clustered=False)
        self.params = {**PARAMS, "kubernetes_version": "1.36"}
        (self.package / "chart.tgz").write_bytes(_chart())

    def have(self, **listed: Any) -> None:
        """Let the parameters have these add-ons, of objects or by their fields in a request."""
        self.params = {**self.params, "addons": [self.addon(n, v) for n, v in listed.items()]}

    def addon(self, name: str, given: Any) -> dict[str, Any]:
        if isinstance(given, dict):
            return {"name": name, **given}
        (self.package / f"{name}.yaml").write_text(yaml.safe_dump_all(given))
        return {"name": name, "manifest_path": f"{name}.yaml"}

    def upgrade(self) -> None:
        self.world.have("v1.36.4")
        self.modify(kubernetes_version="1.37")

    def modify(self, services: Services | None = None, **wanted: Any) -> None:
        modify.modify(self.request(), services or self.services(), self.vims, wanted)

    def names(self) -> set[str]:
        """The add-ons' objects in the cluster."""
        return {n for n, o in self.world.objects.items() if addons.LABEL in
                (o["metadata"].get("labels") or {})}


class ParametersTest(AddonsTest):
    def refused(self, words: str, *listed: dict[str, Any], **changes: Any) -> None:
        self.params = {**self.params, "addons": [*listed], **changes}
        with self.subTest(words), self.assertRaisesRegex(ParameterError, words):
            read_params(self.request())

    def test_refused(self) -> None:
        (self.package / "good.yaml").write_text(yaml.safe_dump(_object("ConfigMap", "a")))
        (self.package / "bad.yaml").write_text("a: 1\n")
        (self.package / "nfs.yaml").write_text(yaml.safe_dump(
            _object("ConfigMap", "a", data={"server": "@NFS_SERVER@"})))
        good, chart = {"manifest_path": "good.yaml"}, {"chart_path": "chart.tgz"}
        place = r"k8s_cluster_installation_param\.addons\[0\]"
        for name in ("A", "-a", "a.b", "a" * 54):
            self.refused(rf"{place}\.name: must be at most 53", {"name": name, **good})
        self.refused(r"addons\[1\]\.name: another add-on", *({"name": "a", **good},) * 2)
        self.refused(f"{place}.manifest_path: missing, or chart_path", {"name": "a"})
        self.refused(f"{place}.manifest_path: is not a file of Kubernetes objects",
                     {"name": "a", "manifest_path": "bad.yaml"})
        self.refused(f"{place}.manifest_path: cannot be combined",
                     {"name": "a", **good, **chart, "namespace": "x"})
        self.refused(f"{place}.values_path: needs a chart_path",
                     {"name": "a", **good, "values_path": "good.yaml"})
        self.refused(f"{place}.chart_path: is not a chart",
                     {"name": "a", "chart_path": "good.yaml", "namespace": "x"})
        self.refused(f"{place}.namespace: missing beside chart_path", {"name": "a", **chart})
        self.refused(f"{place}.chart_path: needs the parameter helm",
                     {"name": "a", **chart, "namespace": "x"}, helm=None)
        nfs = {key: None for key in ("storage_server", "pv_registration_params")}
        self.refused(f"{place}.manifest_path: @NFS_SERVER@ needs a storage_server",
                     {"name": "a", "manifest_path": "nfs.yaml"}, **nfs)

    def test_images_of_one_short_name(self) -> None:
        self.have(a=[_deployment("a", "x.org/a/b:1")], b=[_deployment("b", "x.org/c/b:1")])
        read_params(self.request())
        self.refused(r"addons\[1\].manifest_path: image_repository cannot have x.org/c/b:1 beside",
                     *self.params["addons"], image_repository="registry.example.com/k")


class ApplyTest(AddonsTest):
    def test_a_new_cluster_gets_them_in_their_order_after_its_nodes(self) -> None:
        self.have(first=[_object("Namespace", "one"), _deployment("server")],
                  second=[_object("ConfigMap", "a", metadata={"namespace": "one"})])
        self.instantiate(self.services())
        names = ["namespace/one", "deployment.apps/server", "configmap/a"]
        self.assertEqual(names, [n for n in self.world.objects if n in names])
        self.assertLess([*self.world.objects].index(_FLANNEL),
                        [*self.world.objects].index(names[0]))
        metadata = self.world.objects["deployment.apps/server"]["metadata"]
        self.assertEqual("default", metadata["namespace"])
        self.assertEqual({addons.LABEL: "first"}, metadata["labels"])
        self.assertNotIn("namespace", self.world.objects["namespace/one"]["metadata"])
        self.assertEqual(set(names), self.names())

    def test_a_second_attempt_changes_nothing(self) -> None:
        self.have(a=[_deployment("server")])
        self.instantiate(self.services())
        before = dict(self.world.objects)
        self.instantiate(self.services())
        self.assertTrue(all(self.world.objects[name] is before[name] for name in before))

    def test_definitions_come_first_and_are_waited_for(self) -> None:
        self.world.late = 3
        definition = _object("CustomResourceDefinition", "things.example.com",
                             "apiextensions.k8s.io/v1", spec={})
        self.have(a=[_object("Thing", "one", "example.com/v1"), definition])
        self.instantiate(self.services())
        self.assertIn("thing.example.com/one", self.names())

    def test_pods_that_do_not_start(self) -> None:
        self.have(good=[_object("ConfigMap", "a")], bad=[_deployment("server")],
                  later=[_object("ConfigMap", "b")])
        self.world.stuck.add("deployment.apps/server")
        clock = FakeClock()
        words = (
            "the rollout of add-on bad: not within 600 s; last seen: Deployment.apps "
            "default/server: 0 of 1 pods are updated, pod one: ImagePullBackOff"
        )
        with self.assertRaisesRegex(MgmtDriverError, words):
            self.instantiate(self.services(clock=clock))
        self.assertNotIn("configmap/b", self.names())
        self.world.stuck.clear()
        self.instantiate(self.services())
        self.assertIn("configmap/b", self.names())

    def test_pods_of_the_former_template(self) -> None:
        """They serve until a controller replaces them, and longer if the new ones do not start."""
        by_hand: dict[str, Any] = {"type": "OnDelete"}
        for kind, strategy, lack in (
            ("StatefulSet", {}, "0 of 3 pods are updated"),
            ("StatefulSet", {"rollingUpdate": {"partition": 2}}, "0 of 1 pods are updated"),
            ("StatefulSet", {"rollingUpdate": {"partition": 3}}, ""),
            ("StatefulSet", by_hand, ""),
            ("DaemonSet", {"rollingUpdate": {"maxSurge": 0}}, "0 of 3 pods are updated"),
            ("DaemonSet", by_hand, ""),
            ("Deployment", {}, "3 pods of the former template are left"),
        ):
            spec = {"replicas": 3, "selector": {}, "updateStrategy": strategy}
            self.build(is_clustered=False)
            self.have(a=[_object(kind, "a", "apps/v1", spec=spec)])
            self.world.former.add(f"{kind.lower()}.apps/a")
            with self.subTest(kind, strategy=strategy):
                if not lack:
                    self.instantiate(self.services())
                    continue
                with self.assertRaisesRegex(MgmtDriverError, f"default/a: {lack}"):
                    self.instantiate(self.services(clock=FakeClock()))

    def test_an_object_that_two_have(self) -> None:
        self.have(a=[_object("ConfigMap", "x")], b=[_object("ConfigMap", "x")])
        with self.assertRaisesRegex(MgmtDriverError, "there twice: ConfigMap default/x"):
            self.instantiate(self.services())

    def test_an_error_names_the_add_on(self) -> None:
        self.have(a=[_object("Thing", "one", "example.com/v1")])
        with self.assertRaisesRegex(MgmtDriverError, "add-on a: .*no matches for kind"):
            self.instantiate(self.services())

    def test_addresses_of_the_cluster(self) -> None:
        text = {"server": "@NFS_SERVER@", "pods": "@POD_CIDR@"}
        self.have(a=[_object("ConfigMap", "a", data=text)])
        self.instantiate(self.services())
        data = {"server": STORAGE, "pods": "192.168.0.0/16"}
        self.assertEqual(data, self.world.objects["configmap/a"]["data"])

    def test_a_chart(self) -> None:
        (self.package / "values.yaml").write_text(yaml.safe_dump_all([
            _object("ConfigMap", "a", data={"of": "RELEASE", "server": "@NFS_SERVER@"}),
            _object("ConfigMap", "b", metadata={"namespace": "elsewhere"}),
        ]))
        self.have(one={"chart_path": "chart.tgz", "values_path": "values.yaml",
                       "namespace": "mine"})
        self.instantiate(self.services())
        made = self.world.objects["configmap/a"]
        self.assertEqual({"of": "one-mine-1.36.0", "server": STORAGE}, made["data"])
        self.assertEqual("mine", made["metadata"]["namespace"])
        other = self.world.objects["configmap/b"]
        self.assertEqual("elsewhere", other["metadata"]["namespace"])

    def test_a_chart_that_cannot_be_rendered(self) -> None:
        (self.package / "values.yaml").write_text("a: 1\n")
        self.have(one={"chart_path": "chart.tgz", "values_path": "values.yaml",
                       "namespace": "mine"})
        with self.assertRaisesRegex(MgmtDriverError, "add-on one cannot be rendered.*lacks"):
            self.instantiate(self.services())


class LaterTest(AddonsTest):
    def setUp(self) -> None:
        super().setUp()
        self.have(keeps=[_object("ConfigMap", "a"), _deployment("server")],
                  leaves=[_object("Namespace", "mine"), _object("ConfigMap", "c")])
        self.instantiate(self.services())

    def test_what_left_is_deleted_by_an_upgrade(self) -> None:
        self.have(keeps=[_deployment("server"), _object("ConfigMap", "new")])
        self.upgrade()
        self.assertEqual({"deployment.apps/server", "configmap/new"}, self.names())
        self.assertIn(_FLANNEL, self.world.objects)
        recorded = json.loads(self.world.objects[_RECORD]["data"]["objects"])["items"]
        self.assertEqual(["server", "new"], [o["metadata"]["name"] for o in recorded])

    def test_all_of_them_leave(self) -> None:
        self.have()
        self.upgrade()
        self.assertEqual(set(), self.names())
        self.assertIn(_FLANNEL, self.world.objects)

    def test_what_moves_to_another_add_on_stays(self) -> None:
        self.have(other=[_object("ConfigMap", "c"), _object("Namespace", "mine")])
        self.upgrade()
        self.assertEqual({"configmap/c", "namespace/mine"}, self.names())

    def test_what_somebody_else_has_put_in_the_place_stays(self) -> None:
        self.world.objects["configmap/c"] = _object("ConfigMap", "c", data={"a": "theirs"})
        self.have()
        self.upgrade()
        self.assertEqual({"a": "theirs"}, self.world.objects["configmap/c"]["data"])

    def test_an_attempt_that_breaks_off_forgets_no_object(self) -> None:
        def strike(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "delete" in argv and "--filename" in argv:
                raise MgmtDriverError("broken off")

        self.have(keeps=[_object("ConfigMap", "new")])
        self.world.have("v1.36.4")
        with self.assertRaisesRegex(MgmtDriverError, "broken off"):
            self.modify(self.services(strike), kubernetes_version="1.37")
        self.assertIn("configmap/c", self.names())
        self.modify(kubernetes_version="1.37")
        self.assertEqual({"configmap/new"}, self.names())

    def test_fields_that_others_have_changed(self) -> None:
        self.world.changed.add("configmap/a")
        self.world.objects["configmap/a"] = _object("ConfigMap", "a", data={"a": "theirs"})
        self.upgrade()
        self.assertNotIn("data", self.world.objects["configmap/a"])

    def test_a_record_that_somebody_has_changed(self) -> None:
        self.world.objects[_RECORD]["data"]["objects"] = "- kind: x\n"
        with self.assertRaisesRegex(MgmtDriverError, "lacks apiVersion"):
            self.upgrade()

    def test_a_heal_of_the_whole_brings_them(self) -> None:
        before = self.names()
        self.replace_all()
        self.assertEqual(set(), self.names())
        self.heal_end(self.request(), self.services())
        self.assertEqual(before, self.names())

    def test_images_are_pulled_before_an_upgrade_changes_the_cluster(self) -> None:
        pulled: set[str] = set()

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "pull" in argv:
                pulled.add(argv[-1])
                self.assertEqual("v1.36.4", self.world.release)

        self.world.have("v1.36.4")
        wanted = {"kubernetes_version": "1.37", "image_repository": "registry.example.org/k8s"}
        self.modify(self.services(note), **wanted)
        self.assertIn("registry.example.org/k8s/server:v1", pulled)
        spec = self.world.objects["deployment.apps/server"]["spec"]["template"]["spec"]
        self.assertEqual("registry.example.org/k8s/server:v1", spec["containers"][0]["image"])

    def test_a_modification_changes_them(self) -> None:
        before = self.params["addons"]
        self.have(keeps=[_object("ConfigMap", "a", data={"a": "changed"})])
        wanted, self.params = self.params["addons"], {**self.params, "addons": before}
        self.modify(addons=wanted)
        self.assertEqual({"a": "changed"}, self.world.objects["configmap/a"]["data"])
        self.assertEqual({"configmap/a"}, self.names())
        self.modify(addons=None)
        self.assertEqual(set(), self.names())
        self.assertIn(_FLANNEL, self.world.objects)

    def test_a_modification_with_the_same_list_applies_what_the_package_has_now(self) -> None:
        self.have(keeps=[_object("ConfigMap", "a", data={"a": "new"})])
        self.modify(addons=self.params["addons"])
        self.assertEqual({"a": "new"}, self.world.objects["configmap/a"]["data"])

    def test_a_storage_class_with_other_parameters_is_made_anew(self) -> None:
        for wanted in ({"server": "one"}, {"server": "two"}):
            self.have(csi=[_object("StorageClass", "nfs", "storage.k8s.io/v1",
                                   provisioner="nfs.csi.k8s.io", parameters=wanted)])
            self.modify(addons=self.params["addons"])
            made = self.world.objects["storageclass.storage.k8s.io/nfs"]
            self.assertEqual(wanted, made["parameters"])

    def test_a_volume_at_another_address_is_refused(self) -> None:
        """Pods may use it."""
        for server in ("one", "two"):
            nfs = {"server": server, "path": "/a"}
            self.have(static=[_object("PersistentVolume", "a", spec={"nfs": nfs})])
            if server == "one":
                self.modify(addons=self.params["addons"])
        with self.assertRaisesRegex(MgmtDriverError, "add-on static: .*field is immutable"):
            self.modify(addons=self.params["addons"])
        spec = self.world.objects["persistentvolume/a"]["spec"]
        self.assertEqual("one", spec["nfs"]["server"])

    def test_an_upgrade_takes_other_add_ons(self) -> None:
        self.world.have("v1.36.4")
        self.modify(kubernetes_version="1.37", addons=[])
        self.assertEqual(set(), self.names())

    def test_a_dry_run_tells_them(self) -> None:
        before = self.names()
        self.have(keeps=[_deployment("server", "example.com/server:v2")])
        dry_run = DryRun()
        services = replace(self.services(), dry_run=dry_run)
        self.modify(services, addons=self.params["addons"])
        (line,) = [line for line in dry_run.lines if line.phase == ApplyAddons.title]
        told = ("keeps, without ConfigMap default/a, without Namespace mine, "
                "without ConfigMap default/c")
        self.assertEqual(("changed", told), (line.prediction.outcome, line.prediction.reason))
        self.assertEqual(before, self.names())

    def test_a_dry_run_does_not_know_when_evicted_pods_serve_again(self) -> None:
        self.world.have("v1.36.4")
        dry_run = DryRun()
        self.modify(replace(self.services(), dry_run=dry_run), kubernetes_version="1.37")
        (line,) = [line for line in dry_run.lines if line.phase == ApplyAddons.title]
        self.assertEqual("depends", line.prediction.outcome)


class RenderChartTest(unittest.TestCase):
    """The payload, run for real, with a Helm that shows what it was given."""

    def render(self, *sizes: str) -> subprocess.CompletedProcess[bytes]:
        with tempfile.TemporaryDirectory() as folder:
            helm = Path(folder, "helm")
            helm.write_text('#!/bin/sh\necho "$1 $2 $4-$5 $6-$7 ${10}"\ncat "$3" "$9"\n')
            helm.chmod(0o755)
            words = Script("mgmt_drivers.cluster.addons", "render-chart").command(
                "name", "space", "1.37.0", *sizes
            )
            env = {"PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": folder}
            ran = subprocess.run(
                words, input=b"chartvalues", env=env, capture_output=True, timeout=60, check=False
            )
            self.assertEqual([helm], [*Path(folder).iterdir()])
            return ran

    def test_chart_and_values_are_told_apart(self) -> None:
        ran = self.render("5", "6")
        words = "template name --namespace-space --kube-version-1.37.0 --include-crds"
        self.assertEqual((0, f"{words}\nchartvalues"), (ran.returncode, ran.stdout.decode()))

    def test_input_that_breaks_off(self) -> None:
        self.assertEqual(b"", self.render("5", "60").stdout)
        self.assertNotEqual(0, self.render("5", "60").returncode)
