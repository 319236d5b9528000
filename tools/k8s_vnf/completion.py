"""Completion for shells."""

import argparse
import sys
from collections.abc import Iterator

from cliff.complete import CompleteBash, CompleteDictionary

from tools import command


def parsers() -> Iterator[command.Parser]:
    yield command.part(
        "completion", "Print bash's completion of commands and options. It needs the package "
        "bash-completion: source <(k8s-vnf completion)", _print,
    )


def _print(options: argparse.Namespace) -> int:
    from tools.k8s_vnf import app  # imports this module

    words = CompleteDictionary()
    for name in app.COMMANDS:
        actions = app.parser(name)._option_string_actions.values()
        words.add_command(name.split(), list(dict.fromkeys(actions)))
    CompleteBash(command.NAME, sys.stdout).write(words.get_commands(), words.get_data())
    return command.GOOD
