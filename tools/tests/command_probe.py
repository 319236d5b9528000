"""Runs a command in all wrong ways, and with --help, and prints what it did as JSON.

The command is started by its ``__main__``, in a process each; of k8s-vnf, the commands that begin
with a word. A process ends as soon as it begins to act: Python's audit events tell of files,
programs and connections.
"""

import argparse
import json
import os
import re
import runpy
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from tools import command
from tools.k8s_vnf import app

_ACTED = 99  # an exit status
_ACTIONS = {
    "os.exec", "os.fork", "os.forkpty", "os.mkdir", "os.posix_spawn", "os.remove", "os.rename",
    "os.rmdir", "os.symlink", "os.system", "shutil.rmtree", "socket.connect", "socket.getaddrinfo",
    "socket.sendto", "subprocess.Popen", "tempfile.mkdtemp", "tempfile.mkstemp",
}  # fmt: skip
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_UNKNOWN = "--no-such-option"
_OF_ALL: Sequence[tuple[list[str], int, str]] = (
    (["--help"], 0, r"usage: k8s-vnf (?s:.*)\n  cloud up +Bring up .*\n  completion "),
    (["-h", "status"], 0, "usage: k8s-vnf "),
    ([], 2, "a command is required"),
    (["package"], 2, "'package' is not a k8s-vnf command(?s:.*)package verify"),
    (["no-such-command"], 2, "'no-such-command' is not "),
    ([_UNKNOWN, "status"], 2, f"unrec.*{_UNKNOWN}|{_UNKNOWN}"),
    (["completion"], 0, "cmds_plan_heal='[^']*--api"),
)


class _Found(BaseException):
    """The parser of a command, which was about to parse its arguments."""


class _Guard:
    """Ends the process at its first action, while the guard is up."""

    is_up = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.is_up:
            return
        is_writing = event == "open" and arguments[2] & _WRITING and arguments[0] != os.devnull
        if is_writing or event in _ACTIONS:
            os.write(2, f"the command acts: {event} {arguments}\n".encode())
            os._exit(_ACTED)


_GUARD = _Guard()


def _parser(module: str) -> argparse.ArgumentParser:
    """The parser of a module's command; all that the module imports is imported then."""
    with mock.patch.object(argparse.ArgumentParser, "parse_known_args", _tell):
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except _Found as found:
            (parser,) = found.args
            assert isinstance(parser, argparse.ArgumentParser)
            return parser
    raise AssertionError(f"{module} parses no arguments")


def _tell(parser: argparse.ArgumentParser, *_: object) -> None:
    raise _Found(parser)


def _commands(
    parser: argparse.ArgumentParser, path: list[str], first: str = ""
) -> Iterator[tuple[argparse.ArgumentParser, list[str]]]:
    if parser.prog == command.NAME:
        words = (name.split() for name in app.COMMANDS)
        yield from ((app.parser(" ".join(w)), w) for w in words if w[0] == first)
        return
    yield parser, path
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from _commands(below, [*path, name])


def _is_taken(parser: argparse.ArgumentParser, action: argparse.Action, text: str) -> bool:
    try:
        parser._check_value(action, parser._get_value(action, text))
    except argparse.ArgumentError:
        return False
    return True


def _good(parser: argparse.ArgumentParser, action: argparse.Action, known: list[str]) -> str:
    texts = [*map(str, action.choices or ()), *known]
    return next(text for text in texts if _is_taken(parser, action, text))


def _cases(
    parser: argparse.ArgumentParser, path: list[str], known: list[str]
) -> Iterator[tuple[list[str], int, str]]:
    """Words for a command, each with the status and a text that have to come."""
    yield [*path, "--help"], 0, f"usage: {parser.prog}"
    actions = [a for a in parser._actions if a.nargs not in (0, argparse.REMAINDER)]
    if any(isinstance(action, argparse._SubParsersAction) for action in actions):
        yield [*path], 2, "required"
        yield [*path, "no-such-command"], 2, "'no-such-command'"
        return
    words = list(path)
    for group in parser._mutually_exclusive_groups:
        if group.required:
            words += _option(parser, group._group_actions[-1], known)
    for action in actions:
        before = list(words)
        if action.option_strings and action.required:
            words += _option(parser, action, known)
        elif not action.option_strings and action.nargs not in ("?", "*"):
            words.append(_good(parser, action, known))
        wrong = ("no/such/thing", known[1], f"{known[2]}/below", "(", "")
        bad = [text for text in wrong if not _is_taken(parser, action, text)]
        assert bad, f"{path} takes anything as {action.dest}: give it a kind"
        yield [*before, *action.option_strings[-1:], bad[0]], 2, re.escape(bad[0] or "''")
    yield [*path, _UNKNOWN, *words[len(path) :]], 2, f"{parser.prog}: error: unrec.*{_UNKNOWN}"


def _option(
    parser: argparse.ArgumentParser, action: argparse.Action, known: list[str]
) -> list[str]:
    name = action.option_strings[-1]
    return [name] if action.nargs == 0 else [name, _good(parser, action, known)]


def _run(module: str, words: list[str]) -> tuple[int, str]:
    """Exit status and output of a command."""
    with tempfile.TemporaryFile() as output:
        if (child := os.fork()) == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            _GUARD.is_up = True
            sys.argv = [module, *words]
            try:
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            except SystemExit as leaving:
                sys.stdout.flush()
                os._exit(int(leaving.code or 0))  # soon, since taking Python down takes its time
            sys.exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        return status, output.read().decode()


def main(module: str, first: str = "") -> None:
    tempfile.gettempdir()  # Python tries the folder by a file, once
    sys.addaudithook(_GUARD)
    _GUARD.is_up = True  # imports do not act, either
    top = _parser(module)
    _GUARD.is_up = False
    is_named = top.prog.replace("-", "_").endswith(module.rpartition(".")[2])
    assert is_named, f"{top.prog} is no command"
    file = Path("file.json").absolute()
    file.write_text("{}")
    known = ["1", str(Path.cwd()), str(file), "3f1c9a2b-7d40-4e61-8a35-c72d50b63e91"]
    known += ["1.37", "a" * 64, f"SHA256:{'a' * 43}", f"name={file}", "name", f"worker-{'0' * 12}"]
    results = [(["--version"], 0, "0.1.0", *_run(module, ["--version"]))]
    if first == "completion":
        for words, status, text in _OF_ALL:
            results.append((words, status, text, *_run(module, words)))
    for parser, path in _commands(top, [], first):
        assert parser.description, f"{path} has no description"
        for words, status, text in _cases(parser, path, known):
            results.append((words, status, text, *_run(module, words)))
    sys.stdout.write(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
