"""The results of Kubernetes' conformance tests, and the list of tests that are expected to fail."""

import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock
from xml.sax.saxutils import quoteattr

from functional import conformance
from functional.conformance import PARALLEL, Result

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


def case(name: str, status: str, inner: str = "") -> str:
    return f'<testcase name={quoteattr(name)} status="{status}" time="1.5">{inner}</testcase>'


def junit(*cases: str) -> str:
    return f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>"


PASSED = case("[It] [sig-apps] Job should run [Conformance]", "passed")
FILTERED = case("[It] [sig-apps] Job is slow", "skipped", '<skipped message="skipped"/>')
SKIPPED = case(
    "[It] [sig-node] Zones [Conformance]", "skipped", '<skipped message="skipped - no zones"/>'
)


class ResultsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.logged: list[str] = []
        patch = mock.patch.object(conformance, "log", self.logged.append)
        patch.start()
        self.addCleanup(patch.stop)
        self.name = next(iter(conformance.expected()))

    def test_tests_that_were_selected(self) -> None:
        set_up = "[SynchronizedBeforeSuite]"
        failed = case(set_up, "failed", '<failure message="">no node</failure>')
        text = junit(case(set_up, "passed"), PASSED, FILTERED, SKIPPED, failed)
        wanted = [
            Result("[sig-apps] Job should run [Conformance]", "passed", 1.5),
            Result("[sig-node] Zones [Conformance]", "skipped", 1.5),
            Result(set_up, "failed", 1.5),
        ]
        results = conformance.read(text)
        self.assertEqual(wanted, results)
        rows = [line.split() for line in conformance.table(results).splitlines()[1:]]
        self.assertEqual(
            [["0", "1", "none"], ["1", "0", "sig-apps"], ["0", "1", "sig-node"]], rows
        )

    def test_what_fails_and_is_not_listed(self) -> None:
        for outcome in ("failed", "panicked", "timedout", "skipped"):
            results = [Result("a", "passed", 1), Result("b", outcome, 1)]
            with self.assertRaisesRegex(AssertionError, r"1 conformance tests .*: \['b'\]"):
                conformance.compare(results)

    def test_what_is_listed_may_fail_and_is_told(self) -> None:
        for outcome in ("failed", "passed"):
            conformance.compare([Result(self.name, outcome, 1)])
            self.assertIn(f": {outcome}: {self.name}: ", self.logged[-1])

    def test_listed_tests_are_of_conformance_and_have_reasons(self) -> None:
        for name, reason in conformance.expected().items():
            self.assertRegex(name, r"^\[sig-[a-z-]+\] .*\[Conformance\]")
            self.assertTrue(reason)

    def test_progress(self) -> None:
        self.assertEqual("6 of 427 tests, 1 failed", conformance.progress(_OUTPUT))
        self.assertEqual("0 of ? tests, 0 failed", conformance.progress(""))


class RunTest(unittest.TestCase):
    """A stand-in for ginkgo on a cluster that is none."""

    def check(self, text: str, status: int) -> None:
        """Run what writes a JUnit file, unless it is empty, and ends with the status."""
        program = (
            "import sys\nfrom pathlib import Path\n"
            "folder = next(w[13:] for w in sys.argv if w.startswith('--report-dir='))\n"
            f"text = {text!r}\n"
            "Path('kubeconfig').write_text(' '.join(sys.argv))\n"
            "if text: Path(folder, 'junit_01.xml').write_text(text)\n"
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
                conformance.check(machine, "192.0.2.1:5000", PARALLEL, "test")
                self.seen = Path(name, "test-parallel/kubeconfig").read_text()
                self.log = Path(name, "scenario.log").read_text()

    def test_tests_that_pass(self) -> None:
        self.check(junit(PASSED, FILTERED), 0)
        self.assertIn("--label-filter=Conformance && !(Serial || Disruptive)", self.seen)
        self.assertNotIn("--focus", self.seen)
        self.assertIn("     1           0  sig-apps", self.log)

    def test_no_test_and_no_end(self) -> None:
        for text, status in (("", 2), (junit(FILTERED), 0), (junit(PASSED), 1)):
            with self.assertRaisesRegex(AssertionError, f"ginkgo: status {status}, see"):
                self.check(text, status)

    def test_a_test_that_fails(self) -> None:
        with self.assertRaisesRegex(AssertionError, r"\[sig-node\] Zones"):
            self.check(junit(PASSED, SKIPPED), 1)
