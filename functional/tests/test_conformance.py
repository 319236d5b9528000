"""The results of Kubernetes' conformance tests, and the list of tests that are expected to fail."""

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from functional import conformance

_OUTPUT = """\
Will run 427 of 7413 specs
Running in parallel across 4 processes
•••
------------------------------
• [FAILED] [12.000 seconds]
[sig-network] Services [It] should serve [Conformance] [sig-network, Conformance]

  Timeline >>
  • a line of the test
------------------------------
••
"""
_SET_UP = "[SynchronizedBeforeSuite]"
_JOB, _ZONES = "[sig-apps] Job [Conformance]", "[sig-node] Zones [Conformance]"


def case(name: str, status: str, skipped: str = "") -> str:
    inner = f'<skipped message="{skipped}"/>' if skipped else ""
    return f'<testcase name="{name}" status="{status}" time="1.5">{inner}</testcase>'


def junit(*cases: str) -> str:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


PASSED = case(f"[It] {_JOB}", "passed")
FILTERED = case("[It] [sig-apps] Job is slow", "skipped", "skipped")
SKIPPED = case(f"[It] {_ZONES}", "skipped", "skipped - no zones")


class ResultsTest(unittest.TestCase):
    def test_tests_that_were_selected(self) -> None:
        set_ups = case(_SET_UP, "passed"), case("[SynchronizedAfterSuite]", "failed")
        outcomes = conformance.read(junit(*set_ups, PASSED, FILTERED, SKIPPED))
        wanted = {"[SynchronizedAfterSuite]": "failed", _JOB: "passed", _ZONES: "skipped"}
        self.assertEqual(wanted, outcomes)
        rows = [line.split() for line in conformance.table(outcomes).splitlines()[2:]]
        self.assertEqual([["1", "0", "[sig-apps]"], ["0", "1", "[sig-node]"]], rows)

    def test_what_fails_and_is_not_listed(self) -> None:
        for outcome in ("failed", "panicked", "timedout", "skipped"):
            with self.assertRaisesRegex(AssertionError, r"1 conformance tests .*: \['b'\]"):
                conformance.compare({"a": "passed", "b": outcome})

    def test_what_is_listed_may_fail_and_is_told(self) -> None:
        name, reason = next(iter(conformance.expected().items()))
        self.assertRegex(name, r"^\[sig-[a-z-]+\] .*\[Conformance\]")
        for outcome in ("failed", "passed"):
            with mock.patch.object(conformance, "log") as log:
                conformance.compare({name: outcome})
            log.assert_called_once_with(f"of conformance.csv: {outcome}: {name}: {reason}")

    def test_progress(self) -> None:
        self.assertEqual("6 of 427 tests, 1 failed", conformance.progress(_OUTPUT))
        self.assertEqual("0 of 0 tests, 0 failed", conformance.progress(""))


class RunTest(unittest.TestCase):
    """A stand-in for ginkgo on a cluster that is none."""

    def check(self, text: str, status: int, selected: int = 1) -> str:
        """Run what writes a JUnit file, and ends with the status; returns the arguments."""
        program = (
            "import sys\nfrom pathlib import Path\n"
            f"print('Will run {selected} of 7413 specs')\n"
            f"Path('junit_01.xml').write_text({text!r})\n"
            "Path('arguments').write_text(' '.join(sys.argv))\n"
            f"sys.exit({status})\n"
        )
        with tempfile.TemporaryDirectory() as name:
            ginkgo = Path(name, "ginkgo")
            ginkgo.write_text(f"#!{sys.executable}\n{program}")
            ginkgo.chmod(0o755)
            variables = {"FUNCTIONAL_LOGS": name, "FUNCTIONAL_KUBERNETES_MIRROR": "http://m"}
            with (
                mock.patch.dict(os.environ, variables),
                mock.patch.object(conformance, "_fetch_programs", lambda: Path(name)),
                mock.patch.object(conformance, "_push_images"),
            ):
                machine = mock.Mock(run=lambda command: "kubeconfig")
                conformance.check(machine, "192.0.2.1:5000", conformance.PARALLEL, "test")
                return Path(name, "test-parallel/arguments").read_text()

    def test_tests_that_pass(self) -> None:
        arguments = self.check(junit(PASSED, FILTERED), 0)
        self.assertIn("--label-filter=Conformance && !(Serial || Disruptive)", arguments)

    def test_tests_that_did_not_run(self) -> None:
        listed = case(f"[It] {next(iter(conformance.expected()))}", "failed")
        self.check(junit(PASSED, listed), 1, selected=2)
        for cases, status, selected in (
            ([FILTERED], 0, 0), ([PASSED], 1, 1), ([PASSED], 0, 2), ([PASSED, listed], 1, 3)
        ):
            with self.assertRaisesRegex(AssertionError, f"of {selected} tests ran; ginkgo: st"):
                self.check(junit(*cases), status, selected)
