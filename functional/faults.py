"""Faults on machines: the next command under sudo that matches a pattern fails, is cut off, or
finds something changed."""

import contextlib
import re
from collections.abc import Iterator, Sequence

from tools.client.machines import Remote

# The first fault after Heat has replaced the machine; it strikes on another master.
REPLACED = ("join nodes", "fails", "kubeadm token create")

_FOLDER = "/var/tmp/faults"

# It replaces sudo for the login user. A pattern that a command line matches is removed,
# so that each fault strikes once.
_SUDO = f"""#!/bin/bash
for fault in {_FOLDER}/*; do
    [ -e "$fault" ] || continue
    read -r kind pattern <"$fault"
    [[ "$*" =~ $pattern ]] || continue
    commands=$(tail -n +2 "$fault")
    rm "$fault" 2>/dev/null || continue
    case $kind in
    fails) cat >/dev/null; echo "injected fault" >&2; exit 70 ;;
    cut) sudo.real "$@"; pkill -KILL -u "$USER" sshd ;;
    before) sudo.real bash -c "$commands" >/dev/null </dev/null ;;
    esac
done
exec sudo.real "$@"
"""


def prepare(machine: Remote) -> None:
    """Replace sudo on a machine, so that faults can be injected."""
    machine.run(
        f"mkdir -p {_FOLDER} && [ -e /usr/bin/sudo.real ] || "
        f"{{ cat >/var/tmp/sudo.new <<'SUDO'\n{_SUDO}SUDO\n"
        "chmod 755 /var/tmp/sudo.new && sudo cp --preserve /usr/bin/sudo /usr/bin/sudo.real && "
        "sudo.real install -m 755 /var/tmp/sudo.new /usr/bin/sudo; }"
    )


@contextlib.contextmanager
def injected(
    machines: Sequence[Remote], kind: str, pattern: str, commands: str = ""
) -> Iterator[None]:
    """Let one command on each machine that matches the pattern fail, or cut it off.

    :param kind: ``fails``, ``cut``, or ``before``: other commands run before it
    :param pattern: a regular expression
    :param commands: what root's shell runs before the command
    """
    for machine in machines:
        _inject(machine, kind, pattern, commands)
    yield
    for machine in machines:
        _clear(machine)


def _inject(machine: Remote, kind: str, pattern: str, commands: str) -> None:
    name = re.sub(r"\W", "_", pattern)
    machine.run(f"cat >{_FOLDER}/{name} <<'FAULT'\n{kind} {pattern}\n{commands}\nFAULT")


def _clear(machine: Remote) -> None:
    machine.run(f"rm -rf {_FOLDER} && mkdir {_FOLDER}")
