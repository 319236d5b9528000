"""Outputs of the guide, compared with those of a scenario."""

import os
import unittest
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
        ran = mock.Mock(stdout="")
        with (
            mock.patch.object(guide_outputs.subprocess, "run", return_value=ran),
            mock.patch.dict(os.environ, {"FUNCTIONAL_RECORD": "1"}),
        ):
            words += ["-c", "Operation"]
            guide_outputs.compare_openstack("operations", words, {_ID: "VNF-INSTANCE-ID"})
        written = (Path(self.folder) / "operations.txt").read_text()
        self.assertEqual(_FOLDED, written)
