import subprocess
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


class ScriptTest(unittest.TestCase):
    """Scripts of the v2 API find in the package all that their modules read when imported."""

    def test_scripts_run_without_the_distribution(self) -> None:
        for name in ("kubernetes_v2", "private_registry_v2"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                for path, source in drivers.script(f"{name}.py").items():
                    target = Path(folder, path)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(Path(str(source)).read_bytes())
                code = f"import sys; sys.path.insert(0, 'Scripts'); import {name}; print({name})"
                ran = subprocess.run(
                    [sys.executable, "-c", code],
                    cwd=folder, capture_output=True, text=True, check=False,
                )
                self.assertEqual("", ran.stderr)
                self.assertIn("Scripts", ran.stdout)
