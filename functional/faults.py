"""Faults on machines: the next command run under sudo that looks like this comes to grief."""

import re

from tools.client.machines import Remote

_FOLDER = "/var/tmp/faults"

# In sudo's place, for the login user: a pattern that the command line matches is
# taken away, so that each fault strikes once.
_SUDO = f"""#!/bin/bash
for fault in {_FOLDER}/*; do
    [ -e "$fault" ] || continue
    read -r kind pattern <"$fault"
    [[ "$*" =~ $pattern ]] || continue
    rm "$fault" 2>/dev/null || continue
    case $kind in
    fails) cat >/dev/null; echo "injected fault" >&2; exit 70 ;;
    cut) sudo.real "$@"; pkill -KILL -u "$USER" sshd ;;
    esac
done
exec sudo.real "$@"
"""


def prepare(machine: Remote) -> None:
    """Let faults be put on a machine."""
    machine.run(
        f"mkdir -p {_FOLDER} && [ -e /usr/bin/sudo.real ] || "
        f"{{ cat >/var/tmp/sudo.new <<'SUDO'\n{_SUDO}SUDO\n"
        "chmod 755 /var/tmp/sudo.new && sudo cp --preserve /usr/bin/sudo /usr/bin/sudo.real && "
        "sudo.real install -m 755 /var/tmp/sudo.new /usr/bin/sudo; }"
    )


def put(machine: Remote, kind: str, pattern: str) -> None:
    """One command whose words match the pattern (a regular expression) fails, or is cut off."""
    name = re.sub(r"\W", "_", pattern)
    machine.run(f"cat >{_FOLDER}/{name} <<'FAULT'\n{kind} {pattern}\nFAULT")


def clear(machine: Remote) -> None:
    machine.run(f"rm -rf {_FOLDER} && mkdir {_FOLDER}")
