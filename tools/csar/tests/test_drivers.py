import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.csar import drivers

ENTRY_POINTS = f"""[{drivers.GROUP}]
present = csar_test_drivers.present:Driver
absent = csar_test_drivers.absent:Driver
"""


class RegisteredTest(unittest.TestCase):
    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.site = Path(scratch.name)
        information = self.site / "csar_test_drivers-1.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Name: csar_test_drivers\nVersion: 1\n")
        (information / "entry_points.txt").write_text(ENTRY_POINTS)
        patch = mock.patch.object(sys, "path", [scratch.name, *sys.path])
        patch.start()
        self.addCleanup(patch.stop)

    def test_finds_the_file_without_importing_it(self) -> None:
        module = self.site / "csar_test_drivers/present.py"
        module.parent.mkdir()
        module.write_text("raise AssertionError('imported')")
        found = drivers.registered()
        self.assertEqual(found["present"], module)
        self.assertNotIn("absent", found)
