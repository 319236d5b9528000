"""YAML that anybody may have written, as that of VNF packages: without aliases, within limits.

A few hundred bytes of aliases to aliases become hundreds of megabytes when they are written out,
as JSON for the API for instance.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from mgmt_drivers.errors import MgmtDriverError

_LARGEST = 4 << 20  # bytes; manifests with many definitions of resources have one or two million
_DEEPEST = 100  # levels; such definitions have some forty
# A few bytes of text become hundreds in memory: 100,000 nodes have some 70 MB. The manifest of the
# largest pod networks has a third of them.
_MOST = 100_000
_LONGEST_NUMBER = 100  # characters; Python's time for them grows with their square
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class BadYaml(MgmtDriverError):
    """What is wrong with a text that should be YAML."""


_Reader: Any = yaml.SafeLoader
with contextlib.suppress(ImportError):  # of a PyYAML without libyaml
    from yaml.cyaml import CParser  # type: ignore[attr-defined]

    class _Reader(Composer, CParser, SafeConstructor, Resolver):  # type: ignore[no-redef]
        """Reads a package in a seventh of the time; what is read is composed in Python as well."""

        def __init__(self, stream: str) -> None:
            CParser.__init__(self, stream)
            Composer.__init__(self)
            SafeConstructor.__init__(self)
            Resolver.__init__(self)


class _Loader(_Reader):
    """Refuses aliases, and what would exhaust Python's stack, the memory or anybody's patience."""

    _depth = _nodes = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        line = self.peek_event().start_mark.line + 1
        if self.check_event(yaml.AliasEvent):
            raise BadYaml(f"line {line}: aliases are not read; write out what they stand for")
        if self._depth >= _DEEPEST:
            raise BadYaml(f"line {line}: nested deeper than {_DEEPEST} levels")
        self._nodes += 1
        if self._nodes > _MOST:
            raise BadYaml(f"line {line}: more than {_MOST} values")
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if node.tag in _NUMBERS and len(node.value) > _LONGEST_NUMBER:
            line = node.start_mark.line + 1
            raise BadYaml(f"line {line}: a number of more than {_LONGEST_NUMBER} characters")
        return super().construct_object(node, deep)


def load_all(text: str | bytes) -> list[Any]:
    """The documents of a text; empty ones, which are nothing, left out.

    :raises BadYaml: when it is none, is too large, or has aliases
    """
    if len(text) > _LARGEST:
        raise BadYaml(f"larger than {_LARGEST >> 20} MiB")
    try:
        text = text.decode() if isinstance(text, bytes) else text
    except UnicodeDecodeError as error:
        raise BadYaml(f"no text in UTF-8: {error}") from error
    try:
        return [found for found in _documents(text) if found is not None]
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise BadYaml(f"line {line}: no YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise BadYaml(f"no YAML: {error}") from error
    # What constructors raise of scalars that look like numbers, dates or binaries and are not.
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise BadYaml(f"a value cannot be read: {error}") from error


def load(text: str | bytes) -> Any:
    """The only document of a text; None where it is empty.

    :raises BadYaml: as :func:`load_all`, and when there are several
    """
    found = load_all(text)
    if len(found) > 1:
        raise BadYaml(f"{len(found)} documents where one is expected")
    return found[0] if found else None


def read(path: Path) -> Any:
    """As :func:`load`, of a file.

    :raises BadYaml: also when it cannot be read; it names the file
    """
    try:
        return load(_content(path))
    except BadYaml as error:
        raise BadYaml(f"{path.name}: {error}") from error


def read_all(path: Path) -> list[Any]:
    """As :func:`load_all`, of a file.

    :raises BadYaml: also when it cannot be read
    """
    return load_all(_content(path))


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST + 1)
    except OSError as error:
        raise BadYaml(f"cannot be read: {error.strerror}") from error


def _documents(text: str) -> Iterator[Any]:
    loader = _Loader(text)
    try:
        while loader.check_data():
            yield loader.get_data()
    finally:
        loader.dispose()
