"""What the guide quotes exists: errors, phases, commands."""

import ast
import contextlib
import io
import re
import shlex
import unittest
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from functional import guide_blocks, guide_placeholders
from functional.guide_blocks import Command
from mgmt_drivers import errors, package_yaml
from mgmt_drivers.cluster.monitoring import node_health
from mgmt_drivers.engine.trace import FAILED
from mgmt_drivers.testing.outline import outline
from mgmt_drivers.tests.test_boundaries import sources
from tools.k8s_vnf import app
from tools.timeline import runs

_DRIVERS = Path(__file__).parents[1]
_GUIDE = _DRIVERS.parent / "doc" / "source"
_TIMELINES = {
    "instantiate": "instantiate",
    "instantiate_slow_worker": "instantiate",
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

_KINDS = [
    kind for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.MgmtDriverError)
]

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


class ErrorCodesTest(unittest.TestCase):
    def test_each_kind_of_error_has_a_code(self) -> None:
        """Without are those that gather others, or that callers turn into another."""
        without = {kind.__name__ for kind in _KINDS if not kind.code}
        gathering = {"NodeError", "OperationError", "Explained"}
        self.assertEqual({"MgmtDriverError", "NotMade", *gathering}, without)
        for path in sources():
            with self.subTest(path.name):
                calls = re.findall(r".*MgmtDriverError\((?!Exception).*", path.read_text())
                self.assertEqual([], calls)

    def test_the_page_has_each_code_once_with_a_command(self) -> None:
        text = (_GUIDE / "reference" / "error-codes.rst").read_text()
        _, *parts = re.split(r"^(KV-.+)\n-+$", text, flags=re.MULTILINE)
        codes = {kind.code for kind in _KINDS if kind.code}
        self.assertEqual(sorted(codes), sorted(parts[::2]))
        text = (_GUIDE / "howto" / "troubleshooting.rst").read_text()
        self.assertEqual(codes, {code.upper() for code in re.findall(r":ref:`(kv-.+?)`", text)})
        for code, section in zip(parts[::2], parts[1::2], strict=True):
            with self.subTest(code):
                self.assertEqual(1, section.count(".. code-block:: console"))

    def test_a_failure_has_one_code_at_the_head_of_its_cause(self) -> None:
        cause = errors.VolumeError(f"in use: {errors.CommandFailed('lsof', 1, 'x')}")
        failed = errors.OperationError("heal", [errors.NodeError("node", "look", cause)])
        told = errors.Explained(failed, "Retry")
        start = "heal failed: node, phase 'look': [KV-VOLUME] in use: `lsof` ended"
        self.assertTrue(str(told).startswith(start), told)
        self.assertEqual("[KV-UNEXPECTED] KeyError: 1", errors.text_of(KeyError(1)))
        invalid = errors.ParameterError([f"manifest: {package_yaml.BadFile('a.yaml')}"])
        self.assertEqual("[KV-PARAMETERS] invalid parameters: manifest: a.yaml", str(invalid))
        self.assertEqual(("manifest: a.yaml",), invalid.errors)


class MetricsTest(unittest.TestCase):
    def test_the_page_has_each_metric_of_a_machine(self) -> None:
        page = (_GUIDE / "howto" / "monitoring.rst").read_text()
        told = re.findall(r"\* - ``(k8s_vnf_\w+)``", page)
        self.assertEqual(sorted(node_health._HELP), sorted(told))


class TimelinesTest(unittest.TestCase):
    def test_they_show_the_operations_as_they_are(self) -> None:
        self.assertEqual(set(_TIMELINES), {path.stem for path in _GUIDE.glob("traces/*.jsonl")})
        for name, operation in _TIMELINES.items():
            with self.subTest(name):
                (run,) = runs.read(_GUIDE / "traces" / f"{name}.jsonl")
                self.assertNotIn(FAILED, {bar.outcome for bar in run.bars})
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


_PROGRAMS = {
    "base64", "bash", "cat", "cd", "crictl", "curl", "echo", "eval", "export", "journalctl", "jq",
    "k8s-vnf", "kubectl", "openssl", "openstack", "python", "source", "ssh", "tar", "umask",
    "uuidgen", "watch",
}
_FUNCTIONS = {"etcdctl"}  # that blocks define
_KUBECTL = {"auth", "certificate", "get", "logs", "replace"}
_SUBSTITUTION = re.compile(r"[$<][(]([^()]*)[)]")


def _calls(commands: Iterable[Command]) -> Iterator[list[str]]:
    """The words of each call of a program in commands."""
    for command in commands:
        text, _, _ = command.text.replace("\\\n", " ").partition("<<")
        text = text.replace('"$(command -v k8s-vnf)"', "k8s-vnf")
        while found := _SUBSTITUTION.search(text):
            yield from _split(found[1])
            text = f"{text[: found.start()]}X{text[found.end() :]}"
        yield from _split(text)


def _split(text: str) -> Iterator[list[str]]:
    """Split a line of a shell into its calls, without redirections and settings of variables."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    calls: list[list[str]] = [[]]
    is_file = False
    for word in lexer:
        if set(word) <= set("();<>|&"):
            is_file = "<" in word or ">" in word
            calls += [] if is_file else [[]]
        elif is_file or word in ("{", "}") or not calls[-1] and ("=" in word or word == "sudo"):
            is_file = False
        else:
            calls[-1].append(word)
    return filter(None, calls)


def _calls_of(program: str) -> list[list[str]]:
    """The arguments of each call of a program, in all blocks."""
    commands = (command for block in guide_blocks.collect() for command in block.commands)
    return [words[1:] for words in _calls(commands) if words[0] == program and words[1:]]


def _run_commands() -> Iterator[tuple[str, Command]]:
    """The commands that are run, each with its place."""
    for block in guide_blocks.collect():
        yield from ((f"{block}: {c.text}", c) for c in block.commands if not c.is_kept)


class BlocksTest(unittest.TestCase):
    def test_all_blocks_and_marks_are_read(self) -> None:
        blocks = guide_blocks.collect()
        text = "\n".join(path.read_text() for path in _GUIDE.rglob("*.rst"))
        directives = re.findall(r"^ *\.\. code-block:: (?:console|bash|shell)$", text, re.MULTILINE)
        marks = re.findall(r"^ *\.\. (?:not run|status \w+)\b.*:", text, re.MULTILINE)
        self.assertEqual(len(directives), len(blocks))
        self.assertEqual(len(marks), sum(len(block.marks) for block in blocks))
        self.assertGreater(len(blocks), 100)
        self.assertGreater(sum(block.runs for block in blocks), len(blocks) * 2 / 3)

    def test_each_mark_is_for_a_command(self) -> None:
        for block in guide_blocks.collect():
            with self.subTest(str(block)):
                used = {command.mark for command in block.commands} - {None}
                self.assertEqual(set(block.marks), used)
                self.assertTrue(block.commands and all(mark.reason for mark in block.marks))

    def test_placeholders_of_what_is_run_have_values(self) -> None:
        for place, command in _run_commands():
            with self.subTest(place):
                left = guide_placeholders.PLACEHOLDER.sub("", command.text)
                self.assertEqual([], re.findall(r"(?<![\w$-])[A-Z]+(?:-[A-Z]+)+", left))

    def test_programs_of_what_is_run_are_known(self) -> None:
        for place, command in _run_commands():
            with self.subTest(place):
                programs = {words[0] for words in _calls([command])}
                self.assertEqual(set(), programs - _PROGRAMS - _FUNCTIONS)


class CommandsTest(unittest.TestCase):
    def test_the_client_knows_them_and_their_options(self) -> None:
        groups = [g for g in metadata.entry_points().groups if g.startswith("openstack.")]
        known = {e.name: e for g in groups for e in metadata.entry_points(group=g)}
        calls = _calls_of("openstack")
        calls = [words[2:] if words[0].startswith("--os") else words for words in calls]
        self.assertGreater(len(calls), 50)
        for words in calls:
            with self.subTest(" ".join(words)):
                name = next(
                    found
                    for count in range(len(words), 0, -1)
                    if (found := "_".join(words[:count])) in known
                )
                parser = known[name].load()(None, None).get_parser(name)
                for option in (word for word in words if word.startswith("-")):
                    self.assertIn(option, parser._option_string_actions)

    def test_k8s_vnf_takes_them(self) -> None:
        calls = [words for words in _calls_of("k8s-vnf") if words != ["--help"]]
        self.assertGreater(len(calls), 50)
        for words in calls:
            with self.subTest(" ".join(words)):
                name = next(n for n in (" ".join(words[:2]), words[0]) if n in app.COMMANDS)
                parser = app.parser(name)
                for action in parser._actions:  # the files are not there
                    action.type = None
                errors = io.StringIO()
                with contextlib.redirect_stderr(errors), contextlib.suppress(SystemExit):
                    parser.parse_args(words[len(name.split()) :])
                self.assertEqual("", errors.getvalue())

    def test_subcommands_of_kubectl_are_known(self) -> None:
        for words in _calls_of("kubectl"):
            with self.subTest(" ".join(words)):
                self.assertTrue(_KUBECTL & {*words} or words[-1] == "$@")
