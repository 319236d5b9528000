"""The commands of the README: environments of tox that were killed, and what is told of them."""

import contextlib
import importlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.progress import Progress

# In place of tox: it prints its arguments, and ends as the last of them says.
_TOX = """#!/bin/sh
echo "$@"
eval "$(eval echo \\$$#)"
"""
# What stestr prints at the end of a lane.
_STESTR = """
Failed 1 tests - output below:
==============================

test_{name}
Why {name}

======
Totals
======
 - Passed: 2
 - Failed: 1
"""
_RUN = importlib.import_module("tools.run.__main__")


class EnvironmentTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tox = Path(folder.name, "tox")
        self.tox.write_text(_TOX)
        self.tox.chmod(0o755)
        patch = mock.patch.object(_RUN, "_LOGS", Path(folder.name))
        patch.start()
        self.addCleanup(patch.stop)

    def is_made_again(self, end: str) -> bool:
        """Run an environment that ends in a way; whether it was made again before."""
        with contextlib.redirect_stdout(io.StringIO()):
            outcome = _RUN._run(Progress(), str(self.tox), "py3", [end])
        return "--recreate" in outcome.log.read_text()

    def test_lanes_are_counted_together_and_each_failure_is_told(self) -> None:
        lanes = "".join(_STESTR.format(name=name) for name in ("one", "two"))
        with contextlib.redirect_stdout(io.StringIO()):
            outcome = _RUN._run(Progress(), str(self.tox), "full", [f"printf '{lanes}'"])
        self.assertEqual({"Passed": 4, "Failed": 2}, outcome.counts)
        reason = _RUN._reason(outcome.log)
        self.assertIn("test_one\nWhy one", reason)
        self.assertIn("test_two\nWhy two", reason)
        self.assertNotIn("Totals", reason)

    def test_what_was_killed_is_made_again(self) -> None:
        for end, again in (
            ("exit 0", False),
            ("exit 1", False),  # a test failed
            ("kill -KILL $$", False),
            ("exit 0", True),
            ("exit 130", False),  # Ctrl-C
            ("exit 0", True),
            ("exit 0", False),
        ):
            self.assertEqual(again, self.is_made_again(end), end)


class RootTest(unittest.TestCase):
    """The environments of tox that make the command root, and what they install."""

    def missing(self, *environments: str) -> set[str]:
        with mock.patch.object(_RUN.shutil, "which", return_value=None):
            return {*_RUN._missing_packages(environments)} - {"python3-venv"}

    def test_only_the_scenarios_need_docker(self) -> None:
        self.assertEqual(set(), self.missing("pep8"))
        self.assertEqual({"graphviz"}, self.missing("docs"))
        programs = {"openssl", "openssh-client", "dpkg"}
        self.assertEqual(programs, self.missing("tacker-2026.1"))
        for name in ("py3", "py310", "py313"):
            self.assertEqual({*programs, "gpg", "skopeo"}, self.missing(name))
        self.assertLess({"docker.io", "mmdebstrap"}, self.missing("docs", "functional"))

    def test_root_is_for_the_engine_apt_and_what_root_has_left(self) -> None:
        for environments, missing, may_write, reason in (
            (["docs", "py3"], [], True, "^$"),
            (["docs"], ["graphviz"], True, "apt-get needs root to install graphviz"),
            (["docs", "functional"], [], True, "Docker's engine"),
            (["docs"], [], False, "an earlier run left /.* to root"),
        ):
            with mock.patch.object(_RUN.os, "access", return_value=may_write):
                self.assertRegex(_RUN._why_root(environments, missing), reason)

    def test_a_machine_without_sudo(self) -> None:
        with (
            mock.patch.object(_RUN.shutil, "which", return_value=None),
            mock.patch.object(_RUN.os, "geteuid", return_value=1000),
            self.assertRaisesRegex(FileNotFoundError, "^so it is, and there is no sudo"),
        ):
            _RUN._become_root("so it is")
