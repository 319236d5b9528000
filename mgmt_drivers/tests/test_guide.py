"""What the guide quotes exists: errors, phases, commands."""

import ast
import re
import shlex
import unittest
from collections import Counter
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from mgmt_drivers.testing.outline import outline
from tools.timeline import runs

_DRIVERS = Path(__file__).parents[1]
_GUIDE = _DRIVERS.parent / "doc" / "source"
_TIMELINES = {
    "instantiate": "instantiate",
    "restore": "restore",
    "scale_out": "scale_out",
    "scale_in": "scale_in",
    "scale_masters_out": "scale_out",
    "scale_masters_in": "scale_in",
    "upgrade": "upgrade",
    "renewal": "renew",
    "heal_start": "heal_start",
    "heal_end": "heal_end",
    "private_registry": "registry",
}

# Before the phases of an operation, and after them.
_QUESTIONS = {"connect", "choose a control-plane node", "gather facts", "read the VIM credentials"}


def _strings(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        if not {"tests", "testing"} & {*path.parts}:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value
    for path in folder.rglob("*.sh"):
        yield path.read_text()


class TroubleshootingTest(unittest.TestCase):
    def test_its_errors_are_those_of_the_drivers(self) -> None:
        text = (_GUIDE / "howto" / "troubleshooting.rst").read_text()
        quoted = re.findall(r"^``(.+)``$", text, re.MULTILINE)
        self.assertGreater(len(quoted), 20)
        known = tuple(_strings(_DRIVERS))
        for words in quoted:
            with self.subTest(words):
                self.assertTrue(any(words in string for string in known))


class TimelinesTest(unittest.TestCase):
    def test_they_show_the_operations_as_they_are(self) -> None:
        self.assertEqual(set(_TIMELINES), {path.stem for path in _GUIDE.glob("traces/*.jsonl")})
        for name, operation in _TIMELINES.items():
            with self.subTest(name):
                (run,) = runs.read(_GUIDE / "traces" / f"{name}.jsonl")
                self.assertFalse(run.failed)
                titles = [row.title for row in outline(operation)]
                self.assertLessEqual({*run.phases} - _QUESTIONS, {*titles})
                # Other machines go on beside the leader, the machine with the most phases. Phases
                # without a machine are not recorded.
                (leader, _), *_ = Counter(bar.node for bar in run.bars).most_common()
                bars = [bar.phase for bar in run.bars if bar.node == leader]
                seen = [title for title in dict.fromkeys(bars) if title not in _QUESTIONS]
                self.assertTrue(seen)
                self.assertEqual([title for title in titles if title in seen], seen)


class FirstScreenTest(unittest.TestCase):
    def test_each_how_to_begins_with_a_command_or_a_request(self) -> None:
        for page in (_GUIDE / "howto").glob("*.rst"):
            if page.stem != "faq":
                with self.subTest(page.name):
                    first = page.read_text().splitlines()[:20]
                    self.assertTrue(any(line.startswith(".. code-block::") for line in first))


def _commands() -> Iterator[list[str]]:
    """Calls of OpenStack's client, of all pages."""
    for page in _GUIDE.rglob("*.rst"):
        text = page.read_text().replace("\\\n", " ")
        for line in re.findall(r"[$#] .*?(openstack [^|)\n]*)", text):
            words = shlex.split(line)[1:]
            yield words[2:] if words[0] == "--os-tacker-api-version" else words


class CommandsTest(unittest.TestCase):
    def test_the_client_knows_them_and_their_options(self) -> None:
        groups = [g for g in metadata.entry_points().groups if g.startswith("openstack.")]
        known = {e.name: e for g in groups for e in metadata.entry_points(group=g)}
        commands = list(_commands())
        self.assertGreater(len(commands), 10)
        for words in commands:
            with self.subTest(" ".join(words)):
                name = next(
                    found
                    for count in range(len(words), 0, -1)
                    if (found := "_".join(words[:count])) in known
                )
                parser = known[name].load()(None, None).get_parser(name)
                for option in (word for word in words if word.startswith("-")):
                    self.assertIn(option, parser._option_string_actions)
