"""Command line of the preflight checks."""

import argparse
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence

from tools.client.config import CHECKOUT, cloud
from tools.command import UNKNOWN, output_file, parser
from tools.preflight import checks, vims
from tools.preflight.missing import Command, Missing

# Those of this Python, wherever the shell would look for them.
_PROGRAMS: dict[str, tuple[str, ...]] = {
    "openstack": (sys.executable, "-m", "openstackclient.shell"),
    "python": (sys.executable,),
}


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    try:
        connection = cloud()
        if options.vim:
            vims.write_config(connection, options.vim)
            return 0
        found = checks.missing(connection)
        if found and options.make:
            make(found)
            found = checks.missing(connection)
    except subprocess.CalledProcessError as error:
        print(f"preflight: {error}", file=sys.stderr)
        return 1
    except Exception as error:
        print(f"preflight: the cloud of {_choice()} cannot be used: {error}", file=sys.stderr)
        return UNKNOWN
    print(report(found), flush=True)
    return int(bool(found))


def _choice() -> str:
    """The setting by which this cloud is meant: it may be one that the user had forgotten."""
    chosen = (name for name in ("OS_CLOUD", "OS_AUTH_URL") if os.environ.get(name))
    name = next(chosen, None)
    return f"{name}={os.environ[name]}" if name else "OS_CLOUD or OS_*, which are not set,"


def _parser() -> argparse.ArgumentParser:
    made = parser(
        "python -m tools.preflight",
        "Tell what the cloud of OS_CLOUD or OS_* lacks for the scenarios, and the "
        "commands that make it. tools/client/config.py has the variables that change names.",
    )
    what = made.add_mutually_exclusive_group()
    what.add_argument("--make", action="store_true", help="run the commands, then look again")
    what.add_argument(
        "--vim", type=output_file, metavar="FILE",
        help="only write a file that registers the cloud as a VIM, with the password",
    )
    return made


def report(found: Sequence[Missing], needs: str = "what the scenarios need") -> str:
    if not found:
        return f"the cloud has {needs}"
    count = f"{len(found)} thing" + ("s" if len(found) > 1 else "")
    return "\n".join([f"the cloud lacks {count}:", *(f"- {one}" for one in found)])


def make(found: Sequence[Missing]) -> None:
    """Run the commands that make what is missing, from the checkout.

    :raises subprocess.CalledProcessError: when one fails; the others are not run
    """
    for missing in found:
        for command in missing.commands:
            print(f"$ {shlex.join(command)}", flush=True)
            subprocess.run(_found(command), check=True, cwd=CHECKOUT)


def _found(command: Command) -> Command:
    return (*_PROGRAMS.get(command[0], command[:1]), *command[1:])
