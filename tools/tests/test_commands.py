"""Every command: its help and its refusals of wrong arguments do nothing else."""

import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mgmt_drivers import __version__
from tools import command, progress
from tools.k8s_vnf import app
from tools.tests.test_boundaries import CHECKOUT

_MAIN = 'if __name__ == "__main__":'
_K8S_VNF = "tools.k8s_vnf"


def probes() -> Iterator[tuple[str, ...]]:
    """The words of each probe: a module, and of k8s-vnf a word by which commands begin."""
    names = [f"tools.{path.parent.name}" for path in CHECKOUT.glob("tools/*/__main__.py")]
    programs = (path for path in CHECKOUT.glob("tools/*.py") if _MAIN in path.read_text())
    names += [f"tools.{path.stem}" for path in programs]
    yield from ((name,) for name in names if name != _K8S_VNF)
    yield from sorted({(_K8S_VNF, name.split()[0]) for name in app.COMMANDS})


def probe(words: tuple[str, ...]) -> tuple[str, str]:
    """The probe's result for a command, which knows no cloud and has an empty home; its errors."""
    kept = {name: text for name, text in os.environ.items() if not re.match("OS_|FUNC|XDG_", name)}
    with tempfile.TemporaryDirectory() as folder:
        paths = {"HOME": folder, "PYTHONPATH": str(CHECKOUT), "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(
            [sys.executable, "-m", "tools.tests.command_probe", *words],
            cwd=folder, env=kept | paths, capture_output=True, text=True, check=False,
        )
        left = sorted(path.name for path in Path(folder).iterdir())
    is_good = ran.returncode == 0 and left == ["file.json"]
    return ran.stdout, "" if is_good else f"files: {left}\n{ran.stderr}"


class CommandsTest(unittest.TestCase):
    def test_help_and_wrong_arguments_do_nothing_else(self) -> None:
        names = sorted(probes())
        self.assertIn(("tools.audit",), names)
        self.assertIn((_K8S_VNF, "completion"), names)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            results = dict(zip(names, pool.map(probe, names), strict=True))
        for module, (printed, errors) in results.items():
            with self.subTest(" ".join(module)):
                self.assertEqual((True, ""), (bool(printed), errors))
            for words, status, text, got, output in json.loads(printed or "[]"):
                with self.subTest(" ".join([module[0], *words])):
                    self.assertEqual(status, got, output)
                    self.assertRegex(output, text)

    def test_the_help_of_a_group_lists_its_commands(self) -> None:
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(0, app.main(["plan", "--help"]))
        listed = [line.split()[0] for line in said.getvalue().split("commands:\n")[1].splitlines()]
        plans = [name.removeprefix("plan ") for name in app.COMMANDS if name.startswith("plan ")]
        self.assertEqual(sorted(plans), listed)

    def test_a_bare_machine_is_enough_to_read_arguments(self) -> None:
        """Without a package but Python's."""
        for words, status, text in (
            (["--version"], 0, __version__),
            (["tests", "--help"], 0, "usage: python3 tools/run tests "),
            (["tests", "nowhere"], 2, "'nowhere' is no environment of tox.ini: py3.* docs"),
            (["groups", "nowhere"], 2, "'nowhere' is no group: .*storage"),
        ):
            run = [sys.executable, "-I", "-S", "-B", str(CHECKOUT / "tools/run"), *words]
            ran = subprocess.run(run, capture_output=True, text=True, check=False)
            self.assertEqual(status, ran.returncode, ran.stderr)
            self.assertRegex(ran.stdout + ran.stderr, text)


class QuietTest(unittest.TestCase):
    def test_errors_alone_are_printed(self) -> None:
        self.addCleanup(progress.be_quiet, False)
        for quiet, expected in ((True, ""), (False, "] a word\n")):
            progress.be_quiet(quiet)
            with (
                contextlib.redirect_stdout(io.StringIO()) as said,
                contextlib.redirect_stderr(io.StringIO()) as errors,
            ):
                progress.Progress().say("a word")
                progress.print_error("why")
            self.assertTrue(said.getvalue().endswith(expected), said.getvalue())
            self.assertEqual(bool(expected), bool(said.getvalue()))
            self.assertEqual("error: why\n", errors.getvalue())


class KindsTest(unittest.TestCase):
    def test_a_path_that_the_system_refuses(self) -> None:
        for kind in (command.existing_file, command.output_folder):
            made = command.parser("python -m tools.some", "Some.")
            made.add_argument("path", type=kind)
            with (
                contextlib.redirect_stderr(io.StringIO()) as said,
                self.assertRaisesRegex(SystemExit, "^2$"),
            ):
                made.parse_args(["x" * 5000])
            self.assertIn("argument path: 'xxx", said.getvalue())
            self.assertIn("x': File name too long", said.getvalue())

    def test_what_is_refused(self) -> None:
        for kind, texts in (
            (command.whole(1), ("0", "-1", "1.5", "", "²")),
            (command.minutes, ("0", "-1", "nan", "inf", "soon")),
            (command.unique_id, ("", "notauuid", "{3f1c9a2b-7d40-4e61-8a35-c72d50b63e91}")),
            (command.existing_file, (str(CHECKOUT), "no/such")),
            (command.existing_folder, (__file__, "no/such")),
            (command.free_text, ("", " ")),
            (command.output_file, (str(CHECKOUT), f"{__file__}/below")),
            (command.output_folder, (__file__, f"{__file__}/below")),
        ):
            for text in texts:
                with self.subTest(text), self.assertRaisesRegex(
                    argparse.ArgumentTypeError, f"^{re.escape(repr(text))}: "
                ):
                    kind(text)
