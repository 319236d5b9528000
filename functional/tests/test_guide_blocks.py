"""The guide's blocks: how they are read, and the shell that runs them."""

import subprocess
import tempfile
import unittest
from pathlib import Path

from functional import guide_blocks
from functional.guide_shell import Shell, scripts

_PAGE = """
.. not run (the other): because
   of that
.. status 1 (false): why

.. code-block:: console

   $ true
   an output
   $ the other
   # cat <<END \\
       --more
   $ in the document
   END
   $ false
   $ the others

text

   .. not run: all
   .. code-block:: bash

      $ x
"""


class ReadTest(unittest.TestCase):
    def test_commands_have_their_lines_and_marks(self) -> None:
        first, second = guide_blocks.read("page", _PAGE)
        self.assertEqual(("page.rst:6", True, False), (str(first), first.runs, second.runs))
        document = "cat <<END \\\n    --more\n$ in the document\nEND"
        texts = ["true", "the other", document, "false", "the others"]
        self.assertEqual(texts, [command.text for command in first.commands])
        self.assertEqual("$$#$$", "".join(command.prompt for command in first.commands))
        kept = [command.text for command in first.commands if command.is_kept]
        self.assertEqual(["the other"], kept)
        self.assertEqual("because of that", first.marks[0].reason)
        self.assertIs(first.marks[1], first.commands[3].mark)
        self.assertEqual(1, first.marks[1].status)
        (any_status,) = guide_blocks.read("x", ".. status any: w\n.. code-block:: bash\n\n   $ x\n")
        self.assertIsNone(any_status.marks[0].status)

    def test_after_a_login_the_rest_is_run_on_the_machine(self) -> None:
        for login, shell in (("ssh u@h", "bash"), ("ssh -t u@h sudo -i", "sudo bash")):
            text = f".. code-block:: console\n\n   $ a\n   $ {login}\n   # b\n   # c 'd'\n"
            (block,) = guide_blocks.read("page", text)
            _, (_, script) = scripts(block.commands)
            rest = "<<<'set -e\nb\nc '\"'\"'d'\"'\"''"
            self.assertEqual(f"ssh u@h {shell} -s {rest}", script)


    def test_the_guides_scripts_have_the_syntax_of_a_shell(self) -> None:
        for block in guide_blocks.collect():
            for _, script in scripts(block.commands):
                with self.subTest(str(block)):
                    seen = subprocess.run(["bash", "-n", "-c", script], capture_output=True)
                    self.assertEqual((0, b""), (seen.returncode, seen.stderr), script)


class ShellTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.shell = Shell(Path(folder.name), {"GIVEN": "by the caller"})
        self.addCleanup(self.shell.__exit__)

    def test_what_a_command_sets_stays(self) -> None:
        for script, status, output in (
            ("A=1; f() { echo \"$GIVEN $A\"; }", 0, ""),
            ("f", 0, "by the caller 1"),
            ("cat; echo 'no end\nof the line' >&2; false", 1, "no end\nof the line"),
            ("false | true", 1, ""),
            ("if", 2, None),
            ("printf x", 0, "x"),
        ):
            with self.subTest(script):
                done = self.shell.run(script, 60)
                self.assertEqual(status, done.status, done)
                if output is not None:
                    self.assertEqual(output, done.output)

    def test_a_command_that_does_not_end_ends_the_shell(self) -> None:
        self.assertIsNone(self.shell.run("echo seen; sleep 600", 3).status)
        self.assertIsNone(self.shell.run("true", 3).status)
