"""The command blocks of the guide's pages, and what the pages' sources say of running them.

A comment directly above a block, which renders nothing, says what is special::

    .. not run: REASON
    .. not run (TEXT): REASON
    .. status 1 (TEXT): REASON

The first is for the whole block. The others are for its commands that contain the text: they are
not run, or end with another exit status than 0 (``any``: with any). Without a text all commands are
meant. A reason may go on in indented lines.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.client.config import CHECKOUT

SOURCE = CHECKOUT / "doc" / "source"
_BLOCK = re.compile(
    r"(?P<marks>(?:^ *\.\. (?:not run|status )[^\n]*\n(?:^ +(?!\.\.)[^\n]+\n)*\n?)*)"
    r"^(?P<indent> *)\.\. code-block:: (?:console|bash|shell)\n"
    r"(?P<body>(?:\n|(?P=indent)   [^\n]*\n)*)",
    re.MULTILINE,
)
_MARK = re.compile(
    r"\.\. (?P<kind>not run|status (?:\d+|any))(?: \((?P<text>[^)]+)\))?: (?P<reason>[^\0]+?)"
    r"(?=\n *\.\. |\Z)"
)
_HERE_DOC = re.compile(r"<<-?'?(\w+)")


@dataclass(frozen=True)
class Mark:
    """A special case: a block, or its commands with a text, that do not simply run."""

    kind: str
    text: str
    reason: str

    def means(self, command: str) -> bool:
        """Whether the mark is for a command."""
        return bool(re.search(rf"{re.escape(self.text)}(?![\w-])", command))

    @property
    def status(self) -> int | None:
        """The exit status of the commands; None for any."""
        _, _, word = self.kind.partition(" ")
        return None if word == "any" else int(word)


@dataclass(frozen=True)
class Command:
    """One command of a block; ``prompt`` is ``$``, or ``#`` for root."""

    prompt: str
    text: str
    mark: Mark | None = None

    @property
    def is_kept(self) -> bool:
        """Whether the command is not run."""
        return bool(self.mark and self.mark.kind == "not run")


@dataclass(frozen=True)
class Block:
    """A block of commands; ``page`` is the page's document name, ``line`` that of the directive."""

    page: str
    line: int
    marks: tuple[Mark, ...]
    commands: tuple[Command, ...]

    def __str__(self) -> str:
        return f"{self.page}.rst:{self.line}"

    @property
    def runs(self) -> bool:
        """Whether any of its commands is run."""
        return not all(command.is_kept for command in self.commands)


def collect(source: Path = SOURCE) -> list[Block]:
    """Collect the blocks of all pages, in the order of the pages' names."""
    pages = sorted(path.relative_to(source).with_suffix("") for path in source.rglob("*.rst"))
    return [
        block
        for page in map(str, pages)
        for block in read(page, (source / f"{page}.rst").read_text())
    ]


def read(page: str, text: str) -> Iterator[Block]:
    """Read the blocks of a page's source."""
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("indent")) + 1
        marks = tuple(_marks(found["marks"]))
        body = textwrap.dedent(found["body"]).strip("\n").split("\n")
        commands = (
            Command(prompt, command, next((m for m in marks if m.means(command)), None))
            for prompt, command in _commands(body)
        )
        yield Block(page, line, marks, tuple(commands))


def _marks(text: str) -> Iterator[Mark]:
    for found in _MARK.finditer(text):
        yield Mark(found["kind"], found["text"] or "", " ".join(found["reason"].split()))


def _commands(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Split lines into prompts and commands; lines that are neither are output."""
    command, prompt, end = "", "", ""
    for line in lines:
        if end or command.endswith("\\"):
            command = f"{command}\n{line}"
            here_doc = None
        elif line[:2] in ("$ ", "# "):
            if command:
                yield prompt, command
            prompt, command = line[0], line[2:]
            here_doc = _HERE_DOC.search(line)
        else:
            continue
        if here_doc:
            end = here_doc[1]
        elif line == end:
            end = ""
    if command:
        yield prompt, command
