"""SSH connections and phases in a process like Tacker's conductor, where hooks of the v1 API run.

Tacker 15's conductor replaces threads, sockets and locks by eventlet's; Tacker 16's does not.
"""

import subprocess
import sys
import unittest

from tools.csar.build import PACKAGES
from tools.csar.tests.genuine import needs_openstack

# Loads what the program tacker-conductor loads, and runs tests in the place of the conductor.
_PROGRAM = """
import importlib.metadata, sys, unittest
(conductor,) = importlib.metadata.entry_points(group="console_scripts", name="tacker-conductor")
conductor.load()
unittest.main(module=None, argv=sys.argv)
"""
_TESTS = (
    "mgmt_drivers.tests.test_connection.ConnectionTest",
    "mgmt_drivers.tests.test_connection.HoldTest",
    "mgmt_drivers.tests.test_connection.WatchdogTest",
    "mgmt_drivers.tests.test_operation",
)


@needs_openstack
class ConductorTest(unittest.TestCase):
    def test_the_drivers_work_in_it(self) -> None:
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _PROGRAM, *_TESTS],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=PACKAGES.parent,
        )
        self.assertEqual(0, ran.returncode, ran.stdout)
        self.assertRegex(ran.stdout, r"\nRan [5-9]\d tests")
