"""A shell that runs the guide's commands one after another, as a reader of a page does."""

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from functional.guide_blocks import Command
from tools.client.config import CHECKOUT

_END = "end-of-the-command"  # printed after each command, with its status
_LOGIN = re.compile(r"ssh (?:-t )?\S+@\S+(?P<root> sudo -i)?$")
# The commands of this checkout, and one that a machine may lack. SSH takes any host key: a machine
# that is healed has another one.
_PRELUDE = f"""set -o pipefail
k8s-vnf() {{ PYTHONPATH={CHECKOUT} {sys.executable} {CHECKOUT}/tools/k8s_vnf/__main__.py "$@"; }}
openstack() {{ {sys.executable} -m openstackclient.shell "$@"; }}
watch() {{ "$@"; }}
command -v uuidgen >/dev/null || uuidgen() {{ cat /proc/sys/kernel/random/uuid; }}
ssh() {{ command ssh -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
-o LogLevel=ERROR -o ConnectTimeout=20 "$@"; }}
"""


@dataclass(frozen=True)
class Result:
    """The end of a command; ``status`` is None if it did not end in time."""

    status: int | None
    output: str


class Shell:
    """A bash for the blocks of one page; what a command sets stays for later ones.

    A context manager. A command that does not end in time ends the shell, too.

    :param environment: variables besides those of this process
    """

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._bash = subprocess.Popen(
            ["bash", "--norc"], cwd=folder, env={**os.environ, **environment}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._write(_PRELUDE)

    def __enter__(self) -> "Shell":
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        self._bash.communicate()

    def run(self, script: str, limit: float) -> Result:
        """Run commands within a limit in seconds."""
        timer = threading.Timer(limit, self._kill)
        timer.start()
        try:
            self._write(f"eval {shlex.quote(script)} </dev/null\nprintf '\\n{_END} %s\\n' $?\n")
            output = ""
            for line in self._bash.stdout or ():
                if line.startswith(f"{_END} "):
                    return Result(int(line.split()[1]), output.rstrip())
                output += line
            return Result(None, output.rstrip())
        finally:
            timer.cancel()

    def _write(self, text: str) -> None:
        assert self._bash.stdin
        try:
            self._bash.stdin.write(text)
            self._bash.stdin.flush()
        except BrokenPipeError:  # an earlier command has ended the shell
            return

    def _kill(self) -> None:
        if self._bash.poll() is None:
            os.killpg(self._bash.pid, signal.SIGKILL)


def scripts(commands: tuple[Command, ...]) -> list[tuple[Command, str]]:
    """The commands that are run, each with its script.

    After a login to a machine the rest of the block runs there, in one shell, as root if the login
    became root.
    """
    found: list[tuple[Command, str]] = []
    run = [command for command in commands if not command.is_kept]
    for number, command in enumerate(run):
        login = _LOGIN.match(command.text)
        if login:
            words = command.text.replace(" -t", "").removesuffix(login["root"] or "")
            program = "sudo bash" if login["root"] else "bash"
            rest = "\n".join(["set -e", *(later.text for later in run[number + 1 :])])
            return [*found, (command, f"{words} {program} -s <<<{shlex.quote(rest)}")]
        found.append((command, command.text))
    return found
