"""The distribution: built and installed as its users do, under one version."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from mgmt_drivers import __version__
from mgmt_drivers.tests.test_boundaries import CHECKOUT, IMPORT_WITHOUT_TACKER, PACKAGE

_NAME = f"tacker_mgmt_drivers-{__version__}"
_LOOK = f"""{IMPORT_WITHOUT_TACKER}
import importlib.metadata, importlib.util, json, mgmt_drivers
told = importlib.metadata.distribution("tacker-mgmt-drivers")
points = [p.module for p in told.entry_points if p.group == "tacker.tacker.mgmt.drivers"]
print(json.dumps([
    mgmt_drivers.__version__, told.version, mgmt_drivers.__file__,
    [importlib.util.find_spec(point).origin for point in points],
]))
"""


def run(*words: str, folder: str, **variables: str) -> str:
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env={**os.environ, **variables}, check=True,
        stdout=subprocess.PIPE, text=True,
    ).stdout


class ReleaseTest(unittest.TestCase):
    def test_sdist_and_wheel_are_built_and_installed(self) -> None:
        """The wheel is built from the sdist, and that from a copy: a checkout keeps old lists."""
        with tempfile.TemporaryDirectory() as folder:
            source, home = Path(folder, "source"), Path(folder, "installed")
            shutil.copytree(PACKAGE, source / PACKAGE.name)
            for name in ("LICENSE", "README.rst", "pyproject.toml"):
                shutil.copy(CHECKOUT / name, source)
            run("-m", "build", "--outdir", f"{folder}/dist", str(source), folder=folder)
            wheel, sdist = sorted(Path(folder, "dist").iterdir())
            names = [f"{_NAME}-py3-none-any.whl", f"{_NAME}.tar.gz"]
            self.assertEqual(names, [wheel.name, sdist.name])
            words = ("pip", "install", "--quiet", "--no-deps", "--target", str(home), str(wheel))
            run("-m", *words, folder=folder)
            looked: Any = json.loads(run("-c", _LOOK, folder=folder, PYTHONPATH=str(home)))
            files = {path.relative_to(home).as_posix() for path in home.rglob("*")}
        *versions, package, points = looked
        self.assertEqual([__version__, __version__], versions)
        self.assertEqual(2, len(points))
        for path in (package, *points):
            self.assertTrue(Path(path).is_relative_to(home), path)
        data = [path for end in ("sh", "json", "yaml") for path in PACKAGE.rglob(f"*.{end}")]
        self.assertTrue([path for path in data if path.suffix == ".json"])
        self.assertEqual(set(), {path.relative_to(CHECKOUT).as_posix() for path in data} - files)
        tops = {name.split("/")[0] for name in files}
        self.assertEqual({"mgmt_drivers", f"{_NAME}.dist-info"}, tops)
        self.assertFalse([name for name in files if "/tests" in name or "/testing" in name])

    def test_the_tools_add_the_command_of_a_checkout(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source, home = Path(folder, "tools"), Path(folder, "installed")
            source.mkdir()
            for name in ("__init__.py", "pyproject.toml", "requirements.txt"):
                shutil.copy(CHECKOUT / "tools" / name, source)
            words = ("install", "--quiet", "--no-deps", "--ignore-installed", "--prefix", str(home))
            run("-m", "pip", *words, "--editable", str(source), folder=folder)
            (command,) = home.glob("bin/k8s-vnf")
            self.assertIn("from tools.k8s_vnf.app import main", command.read_text())
            (finder,) = home.rglob("__editable___*_finder.py")
            self.assertIn(f"'tools': '{source}'", finder.read_text())
            (metadata,) = home.rglob("METADATA")
            self.assertIn("\nRequires-Dist: cliff", metadata.read_text())

    def test_release_notes_and_policy_tell_the_version(self) -> None:
        for name in (
            "doc/release-notes/config.yaml", "SECURITY.rst", "README.rst", "tools/pyproject.toml"
        ):
            self.assertIn(__version__, (CHECKOUT / name).read_text(), name)
