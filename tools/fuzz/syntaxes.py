"""What files mean to the programs that read them.

Stricter than these programs: what two of them could read differently is malformed.
"""

import importlib
import ipaddress
import json
import re
import sys
from collections.abc import Callable
from typing import Any

import yaml

Parse = Callable[[str], Any]
Pairs = list[tuple[str, str]]

_PRINTABLE = re.compile(r"[ -~\n]*")  # ASCII
# What a shell expands between double quotes is escaped, and nothing else is.
_VARIABLE = re.compile(r'([A-Z_]+)="((?:[^"\\$`\n]|\\["\\$`])*)"\n')
_APT = re.compile(r'([A-Za-z0-9]+(?:::[A-Za-z0-9._-]+)*) "([^"\\\n]*)";\n')
_EXPORT = re.compile(r"(/[A-Za-z0-9._/-]*) ([0-9./]+)\(([a-z0-9_,=/.A-Z-]+)\)")
_SOURCE = re.compile(
    r'deb \[signed-by=[a-z/.]+\] ((?:https?|HTTPS?)://(?:\[[0-9A-Fa-f:.]+\])?[^][#?\s"]*) (/)\n'
)
_SETTING = re.compile(r"([A-Za-z]+)=(\S+)")
_FSTAB_FIELDS = 6
_PLAIN_WORDS = re.compile(r"[A-Za-z0-9._:/*@=,-]+")
_SECTIONS = ("global", "defaults", "frontend", "backend")


# From Python 3.11 on.
_tomllib: Any = importlib.import_module("tomllib") if sys.version_info >= (3, 11) else None


class Malformed(Exception):
    """A file that means something else than its values, or nothing at all."""


def variables(text: str) -> Pairs:
    """Variables of a file that shells and systemd (EnvironmentFile) read alike."""
    found = _repeated(_VARIABLE, text)
    return [(name, re.sub(r"\\(.)", r"\1", value)) for name, value in found]


def apt_options(text: str) -> Pairs:
    """Options of apt.conf(5)."""
    return _repeated(_APT, text)


def apt_sources(text: str) -> Pairs:
    """The lines of sources.list(5): URLs and folders.

    A mark of comments counts wherever it stands, and brackets are those of options.
    """
    return _repeated(_SOURCE, text)


def unit(text: str) -> dict[str, Pairs]:
    """Sections of a systemd unit, with their settings."""
    sections: dict[str, Pairs] = {}
    for line in _lines(text):
        if line.startswith("[") and line.endswith("]"):
            settings = sections.setdefault(line, [])
        else:
            match = _SETTING.fullmatch(line)
            if not match or not sections:
                raise Malformed(f"{line!r} is no setting of a unit")
            settings.append((match[1], match[2]))
    return sections


def hosts(text: str) -> list[list[str]]:
    """The lines of hosts(5): an address and its names."""
    found = [line.partition("#")[0].split() for line in _lines(text)]
    for words in filter(None, found):
        if len(words) < 2 or "%" in words[0]:
            raise Malformed(f"{words} are no address and names")
        ipaddress.ip_address(words[0])
    return [[str(ipaddress.ip_address(words[0])), *words[1:]] for words in found if words]


def fstab(text: str) -> list[list[str]]:
    """The lines of fstab(5), in fields."""
    found = [line.split(" ") for line in _lines(text) if not line.startswith("#")]
    for fields in found:
        if len(fields) != _FSTAB_FIELDS or not all(map(_PLAIN_WORDS.fullmatch, fields)):
            raise Malformed(f"{fields} are no fields of a file system")
    return found


def exports(text: str) -> list[tuple[str, str, list[str]]]:
    """The lines of exports(5): a folder, one client, and its options."""
    found = []
    for line in _lines(text):
        match = _EXPORT.fullmatch(line)
        if match:
            found.append((match[1], match[2], match[3].split(",")))
        elif not line.startswith("#"):
            raise Malformed(f"{line!r} is no export")
    return found


def haproxy(text: str) -> list[list[str]]:
    """The lines of haproxy.cfg, in words."""
    found = []
    for line in _lines(text):
        words = line.split()
        is_section = not line.startswith(" ")
        if line.startswith("#") or not words:
            continue
        if is_section and words[0] not in _SECTIONS or not all(map(_PLAIN_WORDS.fullmatch, words)):
            raise Malformed(f"{line!r} is not of HAProxy's configuration")
        found.append(words)
    return found


def keepalived(text: str) -> list[tuple[tuple[str, ...], list[str]]]:
    """The lines of keepalived.conf, each with the blocks that it stands in."""
    found: list[tuple[tuple[str, ...], list[str]]] = []
    blocks: list[str] = []
    for line in _lines(text):
        words = line.split()
        if not words or words[0].startswith(("#", "!")):
            continue
        if words == ["}"] and blocks:
            blocks.pop()
        elif words[-1] == "{":
            blocks.append(" ".join(words[:-1]))
        elif {"{", "}"} & set(words):
            raise Malformed(f"{line!r} is not of keepalived's configuration")
        else:
            found.append((tuple(blocks), words))
    if blocks:
        raise Malformed(f"{blocks} are not closed")
    return found


def toml(text: str) -> Any:
    """A document of TOML; nothing before Python 3.11, which cannot read any."""
    if _tomllib is None:
        return None
    try:
        return _tomllib.loads(text)
    except ValueError as error:
        raise Malformed(f"no TOML: {error}") from error


def json_document(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise Malformed(f"no JSON: {error}") from error


def yaml_documents(text: str) -> list[Any]:
    try:
        return list(yaml.load_all(text, Loader=_LOADER))  # noqa: S506 - one of the safe ones
    except (yaml.YAMLError, ValueError) as error:
        raise Malformed(f"no YAML: {error}") from error


def objects(text: str) -> list[Any]:
    """What kubectl reads, as JSON or else as YAML."""
    return [json_document(text)] if text.startswith("{") else yaml_documents(text)


def as_it_is(text: str) -> str:
    return text


# libyaml's, where it is there, takes a tenth of the time.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _repeated(form: re.Pattern[str], text: str) -> Pairs:
    found: Pairs = []
    position = 0
    while position < len(text):
        match = form.match(text, position)
        if not match:
            raise Malformed(f"{text[position:position + 200]!r} is none of {form.pattern}")
        found.append((match[1], match[2]))
        position = match.end()
    return found


def _lines(text: str) -> list[str]:
    if not _PRINTABLE.fullmatch(text):
        raise Malformed(f"{text!r} has characters other than printable ASCII")
    if text and not text.endswith("\n"):
        raise Malformed(f"{text[-200:]!r} has no end of line")
    return text.splitlines()
