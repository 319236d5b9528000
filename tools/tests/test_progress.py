"""Progress on a terminal and in a log, and commands whose output goes to a file."""

import contextlib
import importlib
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

from tools import logged
from tools.live_lines import LiveLines
from tools.progress import Progress
from tools.tests.terminal import Terminal

# Holds dpkg's kind of lock until its input ends.
_HOLDER = """
import fcntl, sys
with open(sys.argv[1], "a") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
    print("held", flush=True)
    sys.stdin.read()
"""
_TWO_STEPS = """
import time
from pathlib import Path
from tools.progress import Progress
progress = Progress()
with progress.step("one"), progress.step("two") as two:
    two.say("three quarters of it, and more than fits")
    progress.say("a line")
    while not Path(GO).exists():
        time.sleep(0.1)
    time.sleep(0.6)
print("the end")
"""
_INTERRUPTED = """
import time
from tools.progress import Progress, print_error
progress = Progress()
try:
    with progress.step("one"), progress.step("two"):
        while True:
            time.sleep(0.1)
except KeyboardInterrupt:
    print_error("interrupted")
"""
_COMMANDS = """
import sys
from pathlib import Path
from tools import logged
from tools.progress import Progress, print_error
with Progress().step("commands") as step:
    for status in (0, 3):
        program = f"print('output {status}'); raise SystemExit({status})"
        try:
            logged.check([sys.executable, "-c", program], Path(LOG, f"{status}.log"), step)
        except logged.CommandFailed as error:
            print_error(str(error))
"""
# The environments of tox, which a shell script plays: "functional" fails.
_TESTS = """
import importlib
from pathlib import Path
from tools.progress import Progress
run = importlib.import_module("tools.run.__main__")
run._LOGS = Path(FOLDER, "logs")
run._tox = lambda progress: f"{FOLDER}/tox"
try:
    run._tests(Progress(), ["py3", "functional"])
except KeyboardInterrupt:
    run.print_error("interrupted")
"""
_TOX = """#!/bin/sh
echo "output of $2"
sleep ${PAUSE:-0}
echo " - Passed: 2"
[ "$2" != functional ]
"""


class TerminalTest(unittest.TestCase):
    def on(self, columns: int) -> Terminal:
        terminal = Terminal(columns)
        self.addCleanup(terminal.close)
        return terminal

    def assert_rows(self, expected: Sequence[str], rows: Sequence[str]) -> None:
        """The rows match regular expressions."""
        found = [row.rstrip() for row in rows if row.strip()]
        self.assertEqual(len(expected), len(found), found)
        for pattern, row in zip(expected, found, strict=True):
            self.assertRegex(row, f"^{pattern}$")

    def test_each_running_step_has_a_row_below_what_stays(self) -> None:
        terminal = self.on(40)
        with tempfile.TemporaryDirectory() as folder:
            process = terminal.start(f"GO = '{folder}/go'\n{_TWO_STEPS}")
            terminal.read_until(r" [1-9] s  two: three quarters of it\.\.\.")
            self.assert_rows(
                [r"\[.*\] a line", r" +\d+ s  one", r" +\d+ s  two: three quarters of it\.\.\."],
                terminal.screen.rows,
            )
            Path(folder, "go").touch()
            rows = terminal.finish(process)
        self.assert_rows(
            [r"\[.*\] a line", r"\[.*\] two: done in \S+ s", r"\[.*\] one: done in .*", "the end"],
            rows,
        )

    def test_ctrl_c_leaves_no_live_line(self) -> None:
        terminal = self.on(80)
        process = terminal.start(_INTERRUPTED)
        terminal.read_until("two")
        terminal.type(b"\x03")
        stopped = [rf"\[.*\] {name}: stopped after .* s" for name in ("two", "one")]
        self.assert_rows([*stopped, "error: interrupted"], terminal.finish(process))
        self.assertIn("^C", terminal.written)

    def test_output_stays_only_when_a_command_fails(self) -> None:
        terminal = self.on(300)
        with tempfile.TemporaryDirectory() as folder:
            terminal.finish(terminal.start(f"LOG = {folder!r}\n{_COMMANDS}"))
            shown = "\n".join(terminal.screen.rows)
            self.assertEqual("output 3\n", Path(folder, "3.log").read_text())
            self.assertEqual("output 0\n", Path(folder, "0.log").read_text())
        self.assertIn(f"{folder}/3.log, which ends with\noutput 3", shown)
        self.assertNotIn("output 0", shown)

    def folder_with_tox(self) -> str:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        Path(folder.name, "tox").write_text(_TOX)
        Path(folder.name, "tox").chmod(0o755)
        return folder.name

    def test_environments_that_succeed_are_quiet(self) -> None:
        terminal, folder = self.on(300), self.folder_with_tox()
        terminal.finish(terminal.start(f"FOLDER = {folder!r}\n{_TESTS}", PAUSE="0.6"))
        shown = "\n".join(row.rstrip() for row in terminal.screen.rows)
        log = f"{folder}/logs/functional.log"
        self.assertIn(f"functional failed; its output is in {log}, which ends with\noutput", shown)
        self.assertRegex(shown, rf"\nfunctional +FAILED .* {log}\n4 passed, 0 failed, 0 skipped")
        self.assertRegex(shown, r"\npy3 +ok ")
        self.assertRegex(shown, r"\] py3: done in .* s\n")
        self.assertRegex(shown, r"\] functional: failed after .* s\n")
        self.assertNotIn("output of py3", shown)

    def test_ctrl_c_ends_the_environments_first(self) -> None:
        terminal, folder = self.on(300), self.folder_with_tox()
        process = terminal.start(f"FOLDER = {folder!r}\n{_TESTS}", PAUSE="60")
        terminal.read_until("functional: output of functional")
        terminal.read_until("py3: output of py3")
        terminal.type(b"\x03")
        rows = [row for row in terminal.finish(process) if row.strip()]
        self.assertEqual("error: interrupted", rows[-1].rstrip())
        self.assertFalse([row for row in rows if re.match(r" +\d+ s  ", row)], rows)

    def test_a_ci_system_gets_a_log(self) -> None:
        for variables in ({"CI": "true"}, {"TERM": "dumb"}):
            terminal = self.on(80)
            terminal.finish(terminal.start(f"GO = '/'\n{_TWO_STEPS}", **variables))
            self.assertIn("s] one ...", terminal.written)
            self.assertNotIn("\x1b", terminal.written)

    def test_a_window_that_became_narrower_is_cleaned(self) -> None:
        terminal = self.on(40)
        with open(terminal.stream, "w", closefd=False) as stream:
            lines = LiveLines(stream, interval=3600)
            with lines.line(lambda: "x" * 30), lines.line(lambda: "y" * 30):
                terminal.read_until("yyy")
                terminal.resize(16)
                # The terminal has broken the upper line into two.
                lines.print("stays")
                terminal.written = ""
                terminal.read_until("stays")
        self.assertRegex(terminal.written, re.compile(r"^.*\x1b\[2A\r\x1b\[Jstays", re.DOTALL))

    def test_what_would_move_the_cursor_is_not_shown(self) -> None:
        terminal = self.on(80)
        with open(terminal.stream, "w", closefd=False) as stream:
            lines = LiveLines(stream, interval=3600)
            with lines.line(lambda: "\x1b[31mred\x1b[0m and\tbell\a"):
                terminal.read_until(r"red and\?bell\?")


class LogTest(unittest.TestCase):
    def test_a_log_has_a_line_for_each_start_and_detail(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            progress = Progress()
            with progress.step("one") as step:
                step.say("a detail")
                step.echo("of a program\n")
                step.note("for a terminal")
        lines = [re.sub(r"^\[ +\S+ s\] ", "", line) for line in out.getvalue().splitlines()]
        self.assertEqual(["one ...", "  a detail", "of a program"], lines)

    def test_a_service_that_keeps_the_output_open_is_not_waited_for(self) -> None:
        program = "import os; print('x', flush=True); os.fork() or os.execlp('sleep', 's', '60')"
        lines: list[str] = []
        with tempfile.TemporaryDirectory() as folder:
            started = Progress()
            logged.run([sys.executable, "-c", program], Path(folder, "log"), lines.append)
        self.assertLess(started.elapsed, 30)
        self.assertEqual(["x"], lines)


class ReportTest(unittest.TestCase):
    """The last of a run's output is what CI systems keep."""

    def report(self, output: str) -> str:
        run = importlib.import_module("tools.run.__main__")
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "py3.log")
            log.write_text(output)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(1, run._report([run._Outcome("py3", 1, 1.0, log, {"Failed": 1})]))
        return out.getvalue()

    def test_it_says_which_tests_failed(self) -> None:
        told = "a.test_b\n--------\n\n    AssertionError: 1 != 2\n\n\n"
        end = f"======\nTotals\n======\nRan: 1 tests\n{'more' * 40}\n"
        report = self.report(
            f"a.test_b ... FAILED\n===\nFailed 1 tests - output below:\n===\n\n{told}{end}"
        )
        self.assertRegex(report, r"\n--- py3 failed; .* tests failed\na.test_b\n-+\n\n +Assert")
        self.assertNotIn("Totals", report)
        self.assertLess(report.index("1 != 2"), report.index("environment "))

    def test_it_shows_some_of_many_failures(self) -> None:
        lines = "".join(f"line {number}\n" for number in range(5000))
        report = self.report(f"Failed 9 tests - output below:\n=====\n\n{lines}======\nTotals\n")
        self.assertIn("line 99\n", report)
        self.assertNotIn("line 100\n", report)

    def test_it_shows_the_end_of_what_failed_otherwise(self) -> None:
        self.assertIn("which ends with\nx\nno such option\n---", self.report("x\nno such option\n"))


class AptTest(unittest.TestCase):
    """What tools/run prints of apt-get, which a program in the path plays."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.run_module = importlib.import_module("tools.run.__main__")
        path = mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"})
        logs = mock.patch.object(self.run_module, "_LOGS", self.folder / "logs")
        self.lock = self.folder / "lock"
        self.status = "ok runc"  # what dpkg-query prints
        package_locks = mock.patch.object(self.run_module, "_PACKAGE_LOCKS", [self.lock])
        for patch in (path, logs, package_locks):
            patch.start()
            self.addCleanup(patch.stop)

    def install(self, script: str, progress: Progress | None = None) -> str:
        """What is printed when apt-get is a shell script, and dpkg one that ends at once."""
        for name, text in (
            ("apt-get", script),
            ("dpkg", 'echo "dpkg $*"'),
            ("dpkg-query", f"echo 'ok bash\n{self.status}'"),
        ):
            program = self.folder / name
            program.write_text(f"#!/bin/sh\n{text}\n")
            program.chmod(0o755)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.run_module._install_packages(progress or Progress(), ["its-package"])
        return out.getvalue()

    def test_success_is_silent(self) -> None:
        printed = self.install('echo "Get:1 $*"')
        self.assertRegex(printed, r"^\[.*\] installing with apt-get: .*its-package \.\.\.\n$")
        self.assertIn("Get:1 -q install", (self.folder / "logs/apt-install.log").read_text())
        self.assertEqual("dpkg --configure -a\n", (self.folder / "logs/dpkg.log").read_text())
        self.assertFalse((self.folder / "logs/apt-reinstall.log").exists())

    def test_it_installs_again_what_was_half_unpacked(self) -> None:
        self.status = "reinstreq containerd\nreinstreq libc6:i386"
        self.install('echo "$*"')
        self.assertEqual(
            "-q install -y --no-install-recommends --reinstall containerd libc6:i386\n",
            (self.folder / "logs/apt-reinstall.log").read_text(),
        )

    def test_it_waits_for_the_dpkg_of_a_killed_run(self) -> None:
        command = [sys.executable, "-c", _HOLDER, str(self.lock)]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe) as holder:
            assert holder.stdin and holder.stdout
            self.assertEqual(b"held\n", holder.stdout.readline())
            release = holder.stdin.close

            class Releasing(Progress):
                """Its first line lets the holder of the lock go on."""

                def say(self, text: str) -> None:
                    super().say(text)
                    release()

            lines = self.install("true", Releasing()).splitlines()
        self.assertRegex(lines[0], r"^\[.*\] packages are being installed; waiting for it$")
        self.assertIn("] installing with apt-get: ", lines[1])

    def test_an_error_names_the_file_and_shows_its_end(self) -> None:
        with self.assertRaises(logged.CommandFailed) as caught:
            self.install("seq 100; echo 'E: no such package' >&2; exit 100")
        error = str(caught.exception)
        self.assertIn(f"status 100; its output is in {self.folder}/logs/apt-update.log", error)
        self.assertTrue(error.endswith("\n100\nE: no such package"), error)
        self.assertNotIn("\n50\n", error)


if __name__ == "__main__":
    unittest.main()
