"""The frame: which words are which command, the options of all commands, and how a command ends."""

import argparse
import importlib
import logging
import sys
from collections.abc import Sequence
from typing import Any

from cliff.app import App
from cliff.command import Command
from cliff.commandmanager import CommandManager
from cliff.help import HelpAction

from mgmt_drivers.errors import printable
from tools import command, progress

_LOG = logging.getLogger(__name__)
# The module of each command, whose function ``parsers`` makes its parser.
COMMANDS = {
    f"{above} {word}".strip(): f"tools.{module}"
    for module, above, words in (
        ("demo.cli", "", "demo"),
        ("devcloud.cli", "cloud", "up down status logs traces ssh openrc"),
        ("csar.cli", "package", "build verify migrate schema"),
        ("cloud_image.cli", "image", "build"),
        ("registry_image.cli", "image", "registry"),
        ("images.cli", "image", "list push"),
        ("bundle.cli", "", "bundle"),
        ("preflight.check_cli", "", "check"),
        (
            "dry_run.cli", "plan",
            "instantiate scale heal modify change-package terminate compare",
        ),
        ("cluster.cli", "", "status heal kubeconfig"),
        ("timeline.watch_cli", "", "watch"),
        ("timeline.cli", "", "timeline"),
        ("monitoring.cli", "", "monitoring"),
        ("k8s_vnf.completion", "", "completion"),
    )
    for word in words.split()
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns an exit status."""
    words = [*(sys.argv[1:] if argv is None else argv)]
    *group, last = words or [""]
    if group and last in ("-h", "--help") and (listed := _commands_of(group)):
        usage = f"usage: {command.NAME} {' '.join(group)} COMMAND [ARGUMENT ...]"
        print(f"{usage}\n\ncommands:\n{listed}")
        return command.GOOD
    return _App().run(words)


def _commands_of(group: Sequence[str]) -> str:
    """A line for each command that begins with the words of a group."""
    start = f"{' '.join(group)} "
    names = sorted(name for name in COMMANDS if name.startswith(start))
    return "\n".join(f"  {name.removeprefix(start):<16}{_summary(parser(name))}" for name in names)


def _summary(made: command.Parser) -> str:
    """The first sentence of a command's description."""
    return str(made.description).partition(". ")[0].rstrip(".")


def parser(name: str) -> command.Parser:
    """The parser of a command, whose module is imported now."""
    made = importlib.import_module(COMMANDS[name]).parsers()
    prog = f"{command.NAME} {name}"
    return next(parser for parser in made if parser.prog == prog)


class _Leaf(Command):
    """A command whose arguments and actions a module has."""

    name: str

    def __init__(self, app: App, app_args: argparse.Namespace | None) -> None:
        super().__init__(app, app_args)  # without a name, by which cliff would look for plug-ins
        self._parser = parser(self.name)

    def get_description(self) -> str:
        return _summary(self._parser)

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        return self._parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        logging.basicConfig(level=logging.INFO if parsed_args.verbose else logging.CRITICAL)
        progress.be_quiet(parsed_args.quiet)
        try:
            return int(parsed_args.run(parsed_args))
        except command.UsageError as error:
            self._parser.error(str(error))
        except parsed_args.findings as error:
            progress.print_error(str(error))
            return command.FINDING
        except Exception as error:
            _LOG.info("where the error is from", exc_info=True)
            progress.print_error(printable(str(error)) or type(error).__name__)
            return command.UNKNOWN


class _EntryPoint:
    """A command before its module is imported."""

    def __init__(self, name: str) -> None:
        self.name, self.value = name, COMMANDS[name]

    def load(self) -> type[Command]:
        return type(self.name, (_Leaf,), {"name": self.name, "__module__": __name__})


class _TopParser(command.Parser):
    """Leaves the words from the first one that is no option to the command."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        parsed, _ = super().parse_known_args(args, namespace)
        return parsed, parsed.words


class _App(App):
    NAME = command.NAME

    def __init__(self) -> None:
        manager: Any = CommandManager()
        super().__init__("Operate Kubernetes clusters that are VNFs of Tacker.", None, manager)
        # Not cliff's own commands: --help and completion do what they do.
        manager.commands = {name: _EntryPoint(name) for name in COMMANDS}

    def build_option_parser(
        self, description: str | None, version: str | None, argparse_kwargs: Any = None
    ) -> argparse.ArgumentParser:
        usage = f"{self.NAME} [-h] [--version] COMMAND [ARGUMENT ...]"
        made = _TopParser(prog=self.NAME, usage=usage, description=description, add_help=False)
        command.add_version(made)
        text = "show this, and the commands"
        made.add_argument("-h", "--help", action=HelpAction, nargs=0, default=self, help=text)
        made.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
        made.set_defaults(debug=False)
        return made

    def configure_logging(self) -> None:
        """Leave this to the command, which has the option."""

    def interact(self) -> None:
        self.parser.error(f"a command is required; see {self.NAME} --help")
