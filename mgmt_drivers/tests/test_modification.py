"""Modifications: patches, what they may change, and a change without an upgrade."""

import json
import random
import unittest
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mgmt_drivers.cluster import changed_params
from mgmt_drivers.cluster.changed_params import difference, merge
from mgmt_drivers.engine.dry_run import DryRun
from mgmt_drivers.errors import MgmtDriverError, ParameterError
from mgmt_drivers.operations import modify, scale_out
from mgmt_drivers.operations.opening import read_topology
from mgmt_drivers.params.declaration import (
    INSTANTIATION,
    MODIFICATION,
    Always,
    ObjectOf,
    find_changes,
    param,
    parameters,
)
from mgmt_drivers.params.kinds import Count, ListOf, Text
from mgmt_drivers.testing.simulated_cloud import PARAMS, WORKERS, SimulatedClusterTest, new_node
from mgmt_drivers.testing.simulation import SimulatedSession
from mgmt_drivers.tests.test_faults import FaultsTestCase

NAME = "k8s_cluster_modification_param"
_OLD_IMAGES, _NEW_IMAGES = "10.10.0.2:5000/old", "10.10.0.2:5000/new"


class MergePatchTest(unittest.TestCase):
    def test_examples_of_the_rfc(self) -> None:
        """RFC 7396, appendix A, without nulls in the first object."""
        for value, patch, result in (
            ({"a": "b"}, {"a": "c"}, {"a": "c"}),
            ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
            ({"a": "b"}, {"a": None}, {}),
            ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
            ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
            ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
            ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
            ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
            (["a", "b"], ["c", "d"], ["c", "d"]),
            ({"a": "foo"}, "bar", "bar"),
            ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
            ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ):
            with self.subTest(value=value, patch=patch):
                self.assertEqual(result, merge(value, patch))

    def test_a_difference_makes_the_other_object(self) -> None:
        source = random.Random("differences")

        def some(depth: int) -> Any:
            if depth and source.random() < 0.6:
                return {key: some(depth - 1) for key in "abcd" if source.random() < 0.6}
            return source.choice([1, "x", [], [1], [{"a": 1}], False])

        for _ in range(500):
            before, after = {"k": some(3)}, {"k": some(3)}
            patch = difference(before, after)
            self.assertEqual(after, merge(before, patch), (before, patch))
            self.assertEqual({}, difference(after, after))


@dataclass(frozen=True, kw_only=True)
class _Inner:
    size: int = param("size", Count(), default=3, meaning="size")
    fixed: str = param("fixed", Text(), changed_by=INSTANTIATION, meaning="fixed", value="")


@dataclass(frozen=True, kw_only=True)
class _Holder:
    size: int = param("size", Count(), changed_by=MODIFICATION, meaning="size", value=1)
    key: str = param("key", Text(), required=Always(), meaning="key")


@dataclass(frozen=True, kw_only=True)
class _Params:
    open: _Inner | None = param("open", ObjectOf(_Inner), changed_by=MODIFICATION, meaning="open")
    closed: _Inner | None = param("closed", ObjectOf(_Inner), meaning="closed")
    holder: _Holder | None = param("holder", ObjectOf(_Holder), meaning="holder")
    holders: tuple[_Holder, ...] = param("holders", ListOf(ObjectOf(_Holder)), meaning="holders")
    listed: tuple[_Inner, ...] = param(
        "listed", ListOf(ObjectOf(_Inner)), changed_by=MODIFICATION, meaning="listed",
    )


class DeclaredTest(unittest.TestCase):
    """The declarations tell which parameters may change."""

    def changes(self, before: Any, after: Any) -> dict[str, bool]:
        return dict(find_changes(_Params, before, after))

    def test_what_is_allowed(self) -> None:
        two = [{"key": "a", "size": 1}, {"key": "b"}]
        for before, after, changes in (
            ({}, {}, {}),
            ({}, {"open": {"size": 4, "fixed": "x"}}, {"open": True}),
            ({"open": {}}, {"open": None}, {"open": True}),
            ({"open": {}}, {"open": {"size": 3}}, {}),  # the default
            ({"open": {}}, {"open": {"size": 4}}, {"open.size": True}),
            ({"open": {}}, {"open": {"fixed": "x"}}, {"open.fixed": False}),
            ({"open": {}}, {"open": [1]}, {"open": True}),  # which the reader refuses
            ({"closed": {}}, {}, {"closed": False}),
            ({"closed": {}}, {"closed": {"size": 4}}, {"closed.size": False}),
            ({"holder": {"key": "k"}}, {"holder": {"key": "k", "size": 2}}, {"holder.size": True}),
            ({"holder": {"key": "k"}}, {"holder": {"key": "l"}}, {"holder.key": False}),
            ({}, {"holder": {"key": "k", "size": 2}}, {"holder": False}),
            ({"holders": two}, {"holders": [two[0], {"key": "b", "size": 2}]},
             {"holders[1].size": True}),
            ({"holders": two}, {"holders": two[::-1]},
             {"holders[0].size": True, "holders[0].key": False,
              "holders[1].size": True, "holders[1].key": False}),
            ({"holders": two}, {"holders": two[:1]}, {"holders": False}),
            ({"listed": [{}]}, {"listed": [{}, {}]}, {"listed": True}),
            ({"listed": [{}]}, {"listed": [{"fixed": "x"}]}, {"listed[0].fixed": False}),
        ):
            with self.subTest(before=before, after=after):
                self.assertEqual(changes, self.changes(before, after))

    def test_the_patch_has_what_may_change(self) -> None:
        patch = ObjectOf(_Params).patch()
        declared = {parameter.name: parameter for parameter in parameters(patch.cls)}
        self.assertEqual({"open", "holder", "holders", "listed"}, {*declared})
        schema = patch.schema()
        self.assertNotIn("required", schema)
        opened, holder = schema["properties"]["open"], schema["properties"]["holder"]
        self.assertEqual({"type": "null"}, opened["anyOf"][1])
        # A modification that adds the object gives all of it.
        self.assertEqual({"size", "fixed"}, {*opened["anyOf"][0]["properties"]})
        self.assertEqual({"size"}, {*holder["anyOf"][0]["properties"]})
        self.assertEqual("or ``null``", declared["open"].required.words)
        self.assertEqual((None, ""), (declared["open"].default, declared["open"].left_out))


class ChangeTest(SimulatedClusterTest):
    """Changes of parameters that no machine has, and of the image repository."""

    def setUp(self) -> None:
        super().setUp()
        self.params = {**PARAMS, "image_repository": f"http://{_OLD_IMAGES}"}
        self.build()

    def modify(self, *faults: Any, **patch: Any) -> None:
        modify.modify(self.request(), self.services(*faults), self.vims, patch)

    def now(self) -> Any:
        """The parameters that later operations have."""
        return read_topology(self.request(), self.services()).params

    def test_limits_are_changed_while_machines_are_ill(self) -> None:
        self.deaf.update(WORKERS)
        self.modify(drain_timeout="2h", automatic_heal={"share": 60})
        self.modify(automatic_heal={"heals_an_hour": 5})
        now = self.now()
        self.assertEqual(7200, now.drain_timeout)
        self.assertEqual((60, 5), (now.automatic_heal.share, now.automatic_heal.heals_an_hour))
        self.modify(drain_timeout=None, automatic_heal={"share": None})
        now = self.now()
        self.assertEqual((1800, 40, 5), (
            now.drain_timeout, now.automatic_heal.share, now.automatic_heal.heals_an_hour))
        self.modify(automatic_heal=None)
        self.assertEqual({}, changed_params.load(self.store))

    def test_a_version_that_is_not_given_is_no_upgrade(self) -> None:
        self.modify(kubernetes_version=None, drain_timeout="2h")
        self.assertEqual({"drain_timeout": "2h"}, changed_params.load(self.store))
        with self.assertRaisesRegex(ParameterError, "changes nothing"):
            self.modify(kubernetes_version=None)

    def test_what_was_removed_and_comes_again_has_nothing_old(self) -> None:
        self.params = {**self.params, "automatic_heal": {"share": 10, "heals_an_hour": 9}}
        self.modify(automatic_heal=None)
        self.modify(automatic_heal={"share": 20})
        limits = self.now().automatic_heal
        self.assertEqual((20, 3), (limits.share, limits.heals_an_hour))

    def test_the_package_repository_of_later_machines(self) -> None:
        self.modify(package_repository={"url": "https://mirror.example.com/all"})
        repository = self.now().package_repository
        self.assertEqual("https://mirror.example.com/all/", repository.url)
        self.assertIsNotNone(repository.key)  # which the patch leaves

    def test_another_image_repository(self) -> None:
        pulling: set[str] = set()

        def note(session: SimulatedSession, argv: Sequence[str]) -> None:
            pulling.update([session.machine.role] if "pull" in argv else [])

        self.modify(note, image_repository=f"http://{_NEW_IMAGES}")
        self.assertEqual(_NEW_IMAGES, self.world.repository)
        self.assertEqual(_NEW_IMAGES, self.now().image_repository.reference)
        self.assertEqual({"master", "worker"}, pulling)
        worker = self.arrive(new_node("worker", 20, "10.10.0.20"))
        scale_out.scale_out(self.request(worker.node.vnfc_id), self.services(), self.vims)
        self.assert_whole(3, 3)

    def test_the_same_again_is_nothing(self) -> None:
        same = {key: self.params[key] for key in ("script_path", "master_node", "helm")}
        self.modify(**same, drain_timeout="30m", proxy=None)
        self.assertEqual({"drain_timeout": "30m"}, changed_params.load(self.store))

    def test_a_cluster_that_is_not_whole_is_left_alone(self) -> None:
        patch = {"image_repository": f"http://{_NEW_IMAGES}"}
        name = self.machine(WORKERS[0]).name
        node = self.world.nodes.pop(name)
        with self.assertRaisesRegex(
            MgmtDriverError, f"'check the cluster': .*nothing was changed: {name} is not ready"
        ):
            self.modify(**patch)
        self.world.nodes[name] = node
        self.machine(WORKERS[0]).running = "v1.36.4"
        with self.assertRaisesRegex(MgmtDriverError, "the upgrade to .* has not ended: repeat"):
            self.modify(**patch)
        self.assertEqual({}, changed_params.load(self.store))

    def test_a_dry_run_changes_nothing(self) -> None:
        before = self.world.repository
        dry_run = DryRun()
        services = replace(self.services(), dry_run=dry_run)
        patch = {"image_repository": f"http://{_NEW_IMAGES}"}
        modify.modify(self.request(), services, self.vims, patch)
        told = {line.phase: line.prediction.outcome for line in dry_run.lines}
        self.assertEqual("changed", told["set the image repository"])
        self.assertEqual("changed", told["keep the parameters"])
        self.assertEqual(before, self.world.repository)
        self.assertEqual({}, changed_params.load(self.store))

    def test_errors_have_the_paths_of_the_request(self) -> None:
        for patch, words in (
            ({"automatic_heal": {"share": 0}}, f"{NAME}.automatic_heal.share: must be a whole num"),
            ({"automatic_heal": {"colour": 1}}, f"{NAME}.automatic_heal.colour: unknown"),
            ({"automatic_heal": 7}, f"{NAME}.automatic_heal: must be an object"),
            ({"package_repository": {"url": None}}, f"{NAME}.package_repository.url: missing"),
            ({"package_repository": {"key_path": None}}, f"{NAME}.package_repository.key_path: mi"),
            ({"master_node": {"pod_cidr": "10.1.0.0/16"}},
             f"{NAME}.master_node.pod_cidr: cannot be changed by a modification, which changes .*"
             "kubernetes_version, .*automatic_heal"),
            ({"etcd_backup": {}}, f"{NAME}.etcd_backup.folder: missing: each volume of the stor"),
            ({"colour": 1}, f"{NAME}.colour: cannot be changed by a modification, which changes"),
            ({"script_path": None}, f"{NAME}.script_path: cannot be changed"),
            ({"renew_certificates": True, "drain_timeout": "1h"},
             f"{NAME}.drain_timeout: cannot be combined with renew_certificates"),
        ):
            with self.subTest(patch), self.assertRaisesRegex(ParameterError, words):
                modify.validate(self.request(), self.store, json.dumps(patch))

    def test_objects_within_objects(self) -> None:
        deep: Any = "end"
        for _ in range(900):
            deep = {"a": deep}
        for patch in ({"colour": deep}, {"automatic_heal": deep}, {"drain_timeout": deep}):
            with self.assertRaises(ParameterError):
                modify.validate(self.request(), self.store, patch)

    def test_only_an_upgrade_or_logins_go_with_another_operation(self) -> None:
        modify.note_wanted(self.request(), self.store, {"worker_node": {"password": "N3w"}})
        (logins,) = changed_params.load_wanted_logins(self.store)
        self.assertEqual({"worker_node": {"password": "N3w"}}, logins)
        for patch in ({"drain_timeout": "1h"}, {"worker_node": {"labels": {"a": "b"}}}):
            with self.assertRaisesRegex(ParameterError, "only an upgrade or a change of logins"):
                modify.note_wanted(self.request(), self.store, patch)


class ChangeFaultsTest(FaultsTestCase, SimulatedClusterTest):
    def test_change(self) -> None:
        """Every remote command fails once; trying again ends right."""

        def story(number: int, fault: str) -> bool:
            self.params = {**PARAMS, "image_repository": f"http://{_OLD_IMAGES}"}
            request, patch = self.request(), {"image_repository": f"http://{_NEW_IMAGES}"}
            struck = self.cured(
                lambda s: modify.modify(request, s, self.vims, patch), number, fault
            )
            self.assertEqual(_NEW_IMAGES, self.world.repository)
            self.assertEqual(patch, changed_params.load(self.store))
            return struck

        self.assertGreater(self.all_faults(story), 50)
