"""A package to build and to break: a copy of the private registry's, with a driver of its own."""

import contextlib
import io
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.csar import build, drivers, sol001
from tools.k8s_vnf.app import main

DRIVER = "mgmt-drivers-private-registry"
TYPES = {name: "tosca_definitions_version: tosca_simple_yaml_1_2\n" for name in sol001.DIGESTS}


class PackageTest(unittest.TestCase):
    """Gives each test the package in ``folder``, free of what is installed where tests run."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = Path(scratch.name)
        self.folder = self.scratch / "package"
        ignored = shutil.ignore_patterns("images", "__pycache__")
        shutil.copytree(build.PACKAGES / "private_registry", self.folder, ignore=ignored)
        self.driver = self._write("driver.py", "class PrivateRegistryMgmtDriver: ...\n")
        self._replace(drivers, "registered", {DRIVER: self.driver})
        types = {name: self._write(name, text) for name, text in TYPES.items()}
        self._replace(sol001, "definitions", types)

    def _write(self, name: str, text: str) -> Path:
        path = self.scratch / name
        path.write_text(text)
        return path

    def _replace(self, module: object, function: str, result: object) -> None:
        patch = mock.patch.object(module, function, return_value=result)
        patch.start()
        self.addCleanup(patch.stop)


class CommandTest(PackageTest):
    """Runs commands."""

    def run_(self, *arguments: object) -> tuple[int, str, str]:
        """Return the exit status and both outputs."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main(["package", *map(str, arguments)])
            except SystemExit as exit_:
                status = int(exit_.code or 0)
        return status, out.getvalue(), err.getvalue()
