"""The habits of all commands: options, exit statuses, and kinds of arguments.

Only Python's standard library is used here: tools/run reads its arguments on a bare machine.
"""

import argparse
import json
import math
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from mgmt_drivers import __version__

NAME = "k8s-vnf"
GOOD, FINDING, USAGE, UNKNOWN = range(4)
# Each --help and the guide's page "Commands" show this text.
_STATUSES = """\
exit status:
  0  good
  1  a finding: a fault, a refusal, or an action that failed
  2  wrong usage: nothing was done
  3  could not find out: something did not answer, or cannot be read
"""


class _Formatter(argparse.HelpFormatter):
    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text == _STATUSES else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """A parser that takes whole names of options, and reports a wrong one with its own usage."""

    def __init__(self, **kwargs: Any) -> None:
        shared = {"allow_abbrev": False, "epilog": _STATUSES, "formatter_class": _Formatter}
        super().__init__(**{**shared, **kwargs})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        parsed, others = super().parse_known_args(args, namespace)
        if others:
            self.error(f"unrecognized arguments: {' '.join(others)}; see {self.prog} --help")
        return parsed, others

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except OSError as error:  # such as the path of a folder that the user may not read
            reason = f"{arg_string[:99]!r}: {error.strerror}"
            raise argparse.ArgumentError(action, reason) from error


def parser(prog: str, description: str | None) -> Parser:
    """The parser of a program, which the user starts by the words of ``prog``."""
    made = Parser(prog=prog, description=description)
    add_version(made)
    return made


def add_version(parser: Parser) -> None:
    version = f"tacker-mgmt-drivers {__version__}"
    parser.add_argument("--version", action="version", version=version)


class UsageError(Exception):
    """Arguments that do not go together."""


def part(
    name: str,
    description: str,
    run: Callable[[argparse.Namespace], int],
    findings: tuple[type[Exception], ...] = (),
) -> Parser:
    """The parser of a command of k8s-vnf.

    :param run: the command, a function of the options that returns an exit status and raises
        UsageError before it does anything
    :param findings: errors of the command that are findings; others tell that it could not find out
    """
    made = Parser(prog=f"{NAME} {name}", description=description)
    made.set_defaults(run=run, findings=findings)
    how_much = made.add_mutually_exclusive_group()
    how_much.add_argument("-q", "--quiet", action="store_true", help="print no progress")
    how_much.add_argument("-v", "--verbose", action="store_true", help="print the log, too")
    return made


def add_api(parser: Parser, default: str) -> None:
    """The option for the version of Tacker's LCM API; None if it is left out.

    OS_TACKER_API_VERSION is for openstackclient: a VNF and a request tell their version themselves.

    :param default: what the command does without the option
    """
    text = f"version of Tacker's API; default: {default}"
    parser.add_argument("--api", choices=("1", "2"), help=text)


def add_output(parser: Parser) -> None:
    """The option for the form in which a result is printed."""
    parser.add_argument(
        "-o", "--output", choices=("table", "json"), default="table", help="default: %(default)s"
    )


def free_text(text: str) -> str:
    """The kind of what only the cloud can check."""
    return text if text.strip() else _refuse(text, "a text is needed, such as a name")


def existing_file(text: str) -> Path:
    path = Path(text)
    if path.is_dir():
        _refuse(text, "this is a folder, and a file is needed")
    return path if path.exists() else _refuse(text, "there is no such file")


def existing_folder(text: str) -> Path:
    path = Path(text)
    return path if path.is_dir() else _refuse(text, "there is no such folder")


def output_file(text: str) -> Path:
    """A file that is written; its folder may be made."""
    path = Path(text)
    if path.is_dir():
        _refuse(text, "this is a folder, and a file is written")
    _check_folder(text, path.parent)
    return path


def output_folder(text: str) -> Path:
    """A folder in which files are written, and which may be made."""
    path = Path(text)
    _check_folder(text, path)
    return path


def request(text: str) -> dict[str, Any]:
    """The body of a request to Tacker, in a file."""
    path = existing_file(text)
    try:
        body = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a request in JSON: {error}"
        ) from error
    return body if isinstance(body, dict) else _refuse(text, "no request: an object is needed")


def _check_folder(text: str, path: Path) -> None:
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    if not there.is_dir():
        _refuse(text, f"{there} is no folder")


def unique_id(text: str) -> str:
    try:
        is_good = str(uuid.UUID(text)) == text.lower()
    except ValueError:
        is_good = False
    return text if is_good else _refuse(text, f"a UUID is needed, such as {uuid.uuid4()}")


def whole(least: int) -> Callable[[str], int]:
    """The kind of a whole number that is not less than ``least``."""

    def read(text: str) -> int:
        if text.isdecimal() and int(text) >= least:
            return int(text)
        return _refuse(text, f"a whole number of at least {least} is needed")

    return read


def minutes(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    return number if 0 < number < math.inf else _refuse(text, "a number above 0 is needed")


def _refuse(text: str, reason: str) -> NoReturn:
    raise argparse.ArgumentTypeError(f"{text!r}: {reason}")
