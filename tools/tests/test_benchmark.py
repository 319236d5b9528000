"""The benchmark that counts commands."""

import logging
import unittest
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import mgmt_drivers
from tools.benchmark import commands

_TRANSCRIPTS = Path(mgmt_drivers.__file__).parent / "tests/transcripts"


class CommandsTest(unittest.TestCase):
    def test_each_operation_has_a_row(self) -> None:
        self.addCleanup(logging.disable, logging.NOTSET)
        with redirect_stdout(StringIO()) as printed:
            commands.run()
        rows = [line.split(maxsplit=5) for line in printed.getvalue().splitlines()[1:]]
        counts = {name: [int(number) for number in numbers] for *numbers, name in rows}
        self.assertEqual(
            ["instantiate", "heal_start", "heal_end", "heal of a master", "upgrade"], list(counts)
        )
        in_transcript = (_TRANSCRIPTS / "instantiate-3-2.txt").read_text().count("\n   ")
        self.assertEqual(in_transcript, counts["instantiate"][2])
        for masters, workers, total, files, functions in counts.values():
            self.assertEqual(total, masters + workers)
            self.assertLess(files, functions)
