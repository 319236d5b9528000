"""What a cloud lacks, with the commands that make it."""

import shlex
from dataclasses import dataclass

Command = tuple[str, ...]


@dataclass(frozen=True)
class Missing:
    """Something that the cloud lacks.

    Where no command makes it, ``hint`` says who does.
    """

    what: str
    commands: tuple[Command, ...] = ()
    hint: str = ""

    def __str__(self) -> str:
        lines = [self.what, *(f"  $ {shlex.join(command)}" for command in self.commands)]
        if self.hint:
            lines.append(f"  {self.hint}")
        return "\n".join(lines)


def openstack(*words: str) -> Command:
    """A command of OpenStack's command line."""
    return ("openstack", *words)
