"""The command line: what it tells, and how a finding is repeated."""

import contextlib
import io
import unittest

from tools.fuzz.__main__ import main


class CommandLineTest(unittest.TestCase):
    def run_tool(self, *words: str) -> str:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(0, main(words))
        return output.getvalue()

    def test_a_run_says_what_it_did(self) -> None:
        text = self.run_tool("--inputs", "60", "--seed", "7")
        # A slow machine has lines of progress, too.
        self.assertRegex(text, r"(?s)\Aseed 7\n.* +[0-9.]+ s  60 inputs: ")
        self.assertRegex(text, "[0-9]+% taken")

    def test_one_input_can_be_repeated(self) -> None:
        text = self.run_tool("--inputs", "1", "--seed", "7", "--first", "59")
        self.assertIn("1 inputs: 100%", text)

    def test_a_limit_in_minutes(self) -> None:
        self.assertIn(" inputs: ", self.run_tool("--minutes", "0.001"))
