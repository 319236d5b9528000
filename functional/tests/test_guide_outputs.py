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


class GuideOutputsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
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
