"""The CNI manifest: how it is applied to a new cluster, and again by an upgrade."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from mgmt_drivers.cluster.addons import manifests
from mgmt_drivers.cluster.cluster_params import DEFAULT_CNI_MANIFEST
from mgmt_drivers.cluster.pod_network import metadata_service
from mgmt_drivers.errors import CommandFailed, MgmtDriverError
from mgmt_drivers.operations import modify, scale_out
from mgmt_drivers.testing.fakes import FakeClock
from mgmt_drivers.testing.simulated_cloud import (
    PARAMS,
    WORKERS,
    SimulatedClusterTest,
    new_node,
)
from mgmt_drivers.testing.simulation import SimulatedSession

_OBJECT = "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: one}\n"
_DEFINITION = (
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
    "metadata: {name: things.example.com}\n"
)
_CLUSTER = "daemonset.apps/flannel"


class PodNetworkTest(SimulatedClusterTest):
    def setUp(self) -> None:
        super().setUp()
        self.build(is_clustered=False)
        self.path = Path(self.package / DEFAULT_CNI_MANIFEST)

    def made_by(self, manifest: str) -> None:
        self.path.write_text(manifest)
        self.instantiate(self.services())

    def upgrade(self, manifest: str) -> None:
        self.path.write_text(manifest)
        self.world.have("v1.36.4")
        self.params = {**PARAMS, "kubernetes_version": "1.36"}
        modify.modify(self.request(), self.services(), self.vims, {"kubernetes_version": "1.37"})

    def test_definitions_come_before_their_objects(self) -> None:
        self.made_by(f"{_OBJECT}---\n# nothing\n--- # a definition\n{_DEFINITION}")
        self.assertEqual(
            ["customresourcedefinition.apiextensions.k8s.io/things.example.com",
             "thing.example.com/one"],
            [*self.world.objects],
        )

    def test_the_api_may_be_late_with_a_new_kind(self) -> None:
        self.world.late = 3
        self.made_by(f"{_DEFINITION}---\n{_OBJECT}")
        self.assertIn("thing.example.com/one", self.world.objects)

    def test_a_kind_that_nothing_defines_is_not_waited_for(self) -> None:
        clock = FakeClock()
        self.path.write_text(_OBJECT)
        with self.assertRaisesRegex(MgmtDriverError, "apply the CNI manifest.*no matches for kind"):
            self.instantiate(self.services(clock=clock))
        self.assertEqual(0.0, clock.now)

    def test_a_second_attempt_finds_the_objects_unchanged(self) -> None:
        text = self.path.read_text()
        self.made_by(text)
        before = dict(self.world.objects)
        self.made_by(text)
        self.assertTrue(all(self.world.objects[name] is before[name] for name in before))

    def test_an_upgrade_applies_the_manifest_of_its_package(self) -> None:
        text = self.path.read_text()
        self.made_by(text)
        self.upgrade(f"{text}---\n{_DEFINITION}")
        self.assertIn("things.example.com", "".join(self.world.objects))

    def test_an_upgrade_leaves_what_others_have_changed(self) -> None:
        text = self.path.read_text()
        self.made_by(text)
        self.world.changed.add(_CLUSTER)
        self.world.objects[_CLUSTER] = {"changed": True}
        self.upgrade(text)
        self.assertEqual({"changed": True}, self.world.objects[_CLUSTER])

    def made_on_the_clients_side(self) -> str:
        """As earlier drivers did, with a manifest that had another image; returns the new one."""
        text = self.path.read_text()
        self.made_by(text)
        self.world.client_side = dict.fromkeys(self.world.objects, "2026-01-01T00:00:01Z")
        self.world.objects[_CLUSTER] = {"old": True}
        return text

    def test_an_upgrade_takes_over_what_earlier_drivers_applied(self) -> None:
        self.upgrade(self.made_on_the_clients_side())
        self.assertNotIn("old", self.world.objects[_CLUSTER])
        self.assertEqual({}, self.world.client_side)

    def test_what_others_applied_later_stays(self) -> None:
        text = self.made_on_the_clients_side()
        self.world.client_side[_CLUSTER] = "2026-03-01T00:00:00Z"
        self.upgrade(text)
        self.assertIn("old", self.world.objects[_CLUSTER])

    def test_what_was_applied_at_an_unknown_time_stays(self) -> None:
        text = self.made_on_the_clients_side()
        self.world.client_side[_CLUSTER] = ""
        self.upgrade(text)
        self.assertIn("old", self.world.objects[_CLUSTER])

    def test_what_others_have_changed_stays_after_a_take_over(self) -> None:
        text = self.made_on_the_clients_side()
        del self.world.client_side[_CLUSTER]
        self.world.changed.add(_CLUSTER)
        self.upgrade(text)
        self.assertIn("old", self.world.objects[_CLUSTER])

    def pulls_of_an_upgrade(self, text: str) -> set[str]:
        """The images of flannel that an upgrade with another image repository pulls."""
        pulled: set[str] = set()

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            if "pull" in argv and "flannel" in argv[-1]:
                pulled.add(argv[-1].partition(":")[0])
                raise CommandFailed("ctr", 1, "not found")

        self.path.write_text(text)
        self.world.have("v1.36.4")
        self.params = {**PARAMS, "kubernetes_version": "1.36"}
        wanted = {"kubernetes_version": "1.37", "image_repository": "registry.example.org/k8s"}
        with contextlib.suppress(MgmtDriverError):
            modify.modify(self.request(), self.services(note), self.vims, wanted)
        return pulled

    def test_images_of_the_pod_network_are_pulled_before_the_cluster_changes(self) -> None:
        text = self.path.read_text()
        self.made_by(text)
        (image, *_) = self.pulls_of_an_upgrade(text)
        self.assertTrue(image.startswith("registry.example.org/k8s/flannel"), image)
        self.assertEqual("v1.36.4", self.world.release)
        self.assertEqual("registry.k8s.io", self.world.repository)

    def test_images_of_a_pod_network_that_others_have_replaced_are_not_pulled(self) -> None:
        text = self.path.read_text()
        self.made_by(text)
        self.world.objects.clear()
        self.assertEqual(set(), self.pulls_of_an_upgrade(text))
        self.assertEqual("registry.example.org/k8s", self.world.repository)

    def test_an_upgrade_makes_no_second_pod_network(self) -> None:
        text = self.path.read_text()
        self.made_by(text)
        self.world.objects.clear()
        self.upgrade(text)
        self.assertEqual({}, self.world.objects)

    def test_what_looks_like_a_document_within_a_value_is_none(self) -> None:
        text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n    ---\n"
        (thing,) = manifests.parse(f"{text}    kind: CustomResourceDefinition\n")
        self.assertEqual("---\nkind: CustomResourceDefinition\n", thing["data"]["a"])


class MetadataServiceTest(SimulatedClusterTest):
    def closed(self) -> set[str]:
        """The machines whose pods do not reach the metadata service."""
        machines = self.world.machines.values()
        return {m.address for m in machines if metadata_service.UNIT in m.services}

    def nodes(self) -> set[str]:
        return {m.address for m in self.world.machines.values() if m.role != "storage"}

    def test_a_new_cluster(self) -> None:
        self.build(is_clustered=False)
        self.instantiate(self.services())
        self.assertEqual(self.nodes(), self.closed())

    def test_new_nodes_and_nodes_of_earlier_drivers(self) -> None:
        self.build()
        new = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(new.node.vnfc_id), self.services(), self.vims)
        target = self.machine(WORKERS[0]).node
        self.heal_start(self.request(target.vnfc_id), self.services())
        self.replaced(target)
        self.heal_end(self.request(target.vnfc_id), self.services())
        self.assertEqual({new.address, WORKERS[0]}, self.closed())
        self.world.have("v1.36.4")
        self.params = {**PARAMS, "kubernetes_version": "1.36"}
        modify.modify(self.request(), self.services(), self.vims, {"kubernetes_version": "1.37"})
        self.assertEqual(self.nodes(), self.closed())
