"""The guide quotes errors that the drivers raise."""

import ast
import re
import unittest
from collections.abc import Iterator
from pathlib import Path

_DRIVERS = Path(__file__).parents[1]
_GUIDE = _DRIVERS.parent / "doc" / "source" / "troubleshooting.rst"


def _strings(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        if "tests" not in path.parts:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


class TroubleshootingTest(unittest.TestCase):
    def test_its_errors_are_those_of_the_drivers(self) -> None:
        quoted = re.findall(r"^``(.+)``$", _GUIDE.read_text(), re.MULTILINE)
        self.assertGreater(len(quoted), 20)
        known = tuple(_strings(_DRIVERS))
        for words in quoted:
            with self.subTest(words):
                self.assertTrue(any(words in string for string in known))
