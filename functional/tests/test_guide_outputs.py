"""Outputs of the guide, compared with those of a scenario."""

import contextlib
import json
import os
import unittest
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from functional import guide_outputs

_RECORDED = """$ kubectl get nodes
NAME                  STATUS   AGE
master-0123456789ab   Ready    3m12s
worker-0123456789ab   Ready    59s
"""


_ID = "0a5c8b1e-2c4d-4e6f-8a9b-0c1d2e3f4a5b"
_FOLDED = r"""$ openstack vnflcm op list --filter '(eq,vnfInstanceId,VNF-INSTANCE-ID)' -c 'VNF ID' \
    -c Operation

"""
_PICKED = r"""$ openstack vnflcm show VNF-INSTANCE-ID -f json -c 'Instantiated Vnf Info' \
    | jq -c '."Instantiated Vnf Info".vnfcResourceInfo[]' \
    | jq -c '[.id, .vduId, .computeResource.resourceId]'
"""


class GuideOutputsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        Path(folder.name, "nodes.txt").write_text(_RECORDED)
        mirror = {"FUNCTIONAL_KUBERNETES_MIRROR": "http://mirror", "FUNCTIONAL_RECORD": "0"}
        for patch in (
            mock.patch.object(guide_outputs, "_OUTPUTS", Path(folder.name)),
            mock.patch.dict(os.environ, mirror),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    def test_names_ages_and_order_may_differ(self) -> None:
        lines = ["worker-ba9876543210 Ready 1h", "NAME STATUS AGE", "master-ba9876543210 Ready 2d"]
        guide_outputs.compare("nodes", "kubectl get nodes", "\n".join(lines))

    def test_other_differences_are_errors(self) -> None:
        seen = "NAME STATUS AGE\nmaster-ba9876543210 NotReady 1h\nworker-ba9876543210 Ready 1h"
        with self.assertRaisesRegex(AssertionError, r"(?s)nodes.txt.*-Ready.*\+|\+NotReady"):
            guide_outputs.compare("nodes", "kubectl get nodes", seen)

    def test_long_commands_are_folded_between_their_words(self) -> None:
        words = ["vnflcm", "op", "list", "--filter", f"(eq,vnfInstanceId,{_ID})", "-c", "VNF ID"]
        words += ["-c", "Operation"]
        with self.recording(""):
            guide_outputs.compare_openstack("operations", words, {_ID: "VNF-INSTANCE-ID"})
        self.assertEqual(_FOLDED, self.written("operations"))

    def test_an_instance_is_shown_as_jq_shows_it(self) -> None:
        key, paths = "vnfcResourceInfo", ("id", "vduId", "computeResource.resourceId")
        vnfc = {"id": "a", "vduId": "v", "computeResource": {"resourceId": "s"}}
        shown = {"Instantiated Vnf Info": {key: [vnfc, {**vnfc, "id": "b"}]}}
        with self.recording(json.dumps(shown)):
            guide_outputs.compare_instance("vnfcs", _ID, key, *paths)
            guide_outputs.compare_instance("whole", _ID, key)
        self.assertEqual(f'{_PICKED}["a","v","s"]\n["b","v","s"]\n', self.written("vnfcs"))
        first = '{"id":"a","vduId":"v","computeResource":{"resourceId":"s"}}'
        self.assertIn(f"vnfcResourceInfo[]'\n{first}\n", self.written("whole"))

    @contextlib.contextmanager
    def recording(self, shown: str) -> Iterator[None]:
        """OpenStack's client prints this, and the guide's outputs are recorded."""
        ran = mock.Mock(stdout=shown)
        with (
            mock.patch.object(guide_outputs.subprocess, "run", return_value=ran),
            mock.patch.dict(os.environ, {"FUNCTIONAL_RECORD": "1"}),
        ):
            yield

    def written(self, name: str) -> str:
        return Path(self.folder, f"{name}.txt").read_text()
