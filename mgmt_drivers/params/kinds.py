"""Kinds of parameters: reading a value, its words in the guide, and its JSON schema.

A kind notes errors in the reader, and then returns the probable value or its ``fallback``: values
must not be used before :meth:`ValidationErrors.raise_if_any` was called. No error quotes a value
that may be secret.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from mgmt_drivers import grammar, package_yaml
from mgmt_drivers.params.reader import Reader
from mgmt_drivers.secret import Secret

T = TypeVar("T")

# In place of a network that cannot be read; overlaps with no network in use (RFC 2544).
_NEUTRAL_NETWORK = ipaddress.IPv4Network("198.18.0.0/15")
_SHORTEST_PREFIX = 8  # of a network
_LONGEST_TEXT = 16384  # characters; an RSA key of 16384 bits has some twelve thousand
_MOST = 100  # the largest count
# Bytes of a file in the VNF package: a manifest with many definitions of resources has one or two
# million. Files without this limit are streamed.
_LARGEST_FILE = package_yaml.LARGEST
LARGEST_ARCHIVE = 16 << 30
_LARGEST = 2**31  # the largest number that is read as its digits
_LAST_PORT = 65535
_DURATION = re.compile(r"(?P<number>[0-9]{1,4})(?P<unit>[mhd])")
_UNITS = {"m": 60, "h": 3600, "d": 86400}  # in seconds


class Kind(Generic[T]):
    """A kind: ``words`` describe it in the guide; ``absent`` is the value if it is left out."""

    words: str
    fallback: Any = None
    absent: Any = None

    def parse(self, reader: Reader) -> T:
        """Read the value; errors are noted in the reader."""
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        """The kind in JSON Schema, which accepts at least the values that :meth:`parse` accepts."""
        raise NotImplementedError


class TextKind(Kind[T]):
    """A kind whose values are non-empty strings of printable characters.

    ``has_lines``: line feeds are allowed, too. ``takes_digits``: a number is allowed, too, and is
    read as its digits.
    """

    words = "string"
    has_lines = takes_digits = False
    pattern = ""  # of the JSON schema

    def parse(self, reader: Reader) -> T:
        text = self._text(reader)
        return self.take(text, reader) if text else self.fallback

    def take(self, text: str, reader: Reader) -> T:
        """Convert a text that is not empty to the value; errors are noted in the reader."""
        raise NotImplementedError

    def schema(self) -> dict[str, Any]:
        kinds = ["string", "integer"] if self.takes_digits else "string"
        schema: dict[str, Any] = {"type": kinds, "minLength": 1}
        return {**schema, "pattern": self.pattern} if self.pattern else schema

    def _text(self, reader: Reader) -> str:
        value = reader.value
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if self.takes_digits and is_number and 0 <= value <= _LARGEST:
            value = str(value)
        if value is None:
            reader.refuse("missing")
        elif not isinstance(value, str) or not value:
            reader.refuse(f"must be a string that is not empty, not {reader.describe_kind()}")
        elif len(value) > _LONGEST_TEXT:
            reader.refuse(f"must not be longer than {_LONGEST_TEXT} characters")
        elif not (value.replace("\n", "") if self.has_lines else value).isprintable():
            reader.refuse("must not hold line breaks, NUL or other non-printable characters")
        else:
            return value
        return ""


class Text(TextKind[str]):
    fallback = ""

    def __init__(self, longest: int = _LONGEST_TEXT) -> None:
        self._longest = longest

    def take(self, text: str, reader: Reader) -> str:
        if len(text) > self._longest:
            reader.refuse(f"must not be longer than {self._longest} characters")
        return text

    def schema(self) -> dict[str, Any]:
        return {**super().schema(), "maxLength": self._longest}


class SecretText(TextKind[Secret]):
    fallback = Secret("")

    def take(self, text: str, reader: Reader) -> Secret:
        return Secret(text)


class Reference(TextKind[str]):
    """The name of something in the VNF package, such as a CP."""

    fallback = ""

    def __init__(self, thing: str, owner: str = "VNF package") -> None:
        self._thing, self._owner = thing, owner
        self.words = f"name of a {thing}"

    def take(self, text: str, reader: Reader) -> str:
        known = reader.context.names.get(self._thing, ())
        if text not in known:
            names = ", ".join(sorted(known)) or "none"
            reader.refuse(f"the {self._owner} has no {self._thing} {text}; it has: {names}")
        return text


class Choice(TextKind[str]):
    """One of several words; the first is the fallback."""

    def __init__(self, *allowed: str) -> None:
        self._allowed = allowed
        self.words, self.fallback = " or ".join(f"``{word}``" for word in allowed), allowed[0]

    def take(self, text: str, reader: Reader) -> str:
        if text in self._allowed:
            return text
        reader.refuse(f"must be one of: {', '.join(self._allowed)}")
        return self._allowed[0]

    def schema(self) -> dict[str, Any]:
        return {"enum": list(self._allowed)}


class Flag(Kind[bool]):
    words = "true or false"
    fallback = absent = False

    def parse(self, reader: Reader) -> bool:
        if not isinstance(reader.value, bool):
            reader.refuse(f"must be true or false, not {reader.describe_kind()}")
        return reader.value is True

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class Network(TextKind[ipaddress.IPv4Network]):
    """An IPv4 network of machines (CIDR), less its host bits; the largest is a /8 (RFC 1918)."""

    words = "IPv4 network"
    fallback = _NEUTRAL_NETWORK
    pattern = "^[0-9.]+/[0-9]+$"
    _also = ""

    def take(self, text: str, reader: Reader) -> ipaddress.IPv4Network:
        network = grammar.ipv4_network(text)
        special = grammar.special_part(network) if network else None
        if network is None:
            reader.refuse(f"must be an IPv4 network such as 192.168.0.0/16{self._also}")
        elif special:
            reader.refuse(f"overlaps with {special}, where machines have no addresses")
        elif network.prefixlen < _SHORTEST_PREFIX:
            reader.refuse(
                f"{network} is larger than any network of machines: use a prefix of "
                f"/{_SHORTEST_PREFIX} or longer"
            )
        return network or _NEUTRAL_NETWORK


class NetworkOrAddress(Network):
    """A network, or an address: one that ends in 0 is refused, since its prefix was forgotten."""

    words = "IPv4 network or address"
    pattern = "^[0-9.]+(/[0-9]+)?$"
    _also = ", or an address"

    def take(self, text: str, reader: Reader) -> ipaddress.IPv4Network:
        is_address = "/" not in text and not text.endswith(".0")
        return super().take(f"{text}/32" if is_address else text, reader)


class Count(Kind[int]):
    words = f"number from 1 to {_MOST}"
    fallback = 1
    noun, most = "whole number", _MOST

    def parse(self, reader: Reader) -> int:
        value = reader.value
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= self.most:
            reader.refuse(f"must be a {self.noun} from 1 to {self.most}")
            return 1
        return value

    def schema(self) -> dict[str, Any]:
        return {"type": "integer", "minimum": 1, "maximum": self.most}


class Port(Count):
    """A TCP port number, also as a string of digits."""

    words = "TCP port"
    noun, most = "TCP port number", _LAST_PORT

    def parse(self, reader: Reader) -> int:
        if isinstance(reader.value, str) and grammar.port(reader.value):
            return int(reader.value)
        return super().parse(reader)

    def schema(self) -> dict[str, Any]:
        string = {"type": ["integer", "string"], "pattern": "^[1-9][0-9]{0,4}$"}
        return {**super().schema(), **string}


class Duration(TextKind[int]):
    """Minutes, hours or days; read as seconds."""

    words = "duration, such as ``30m``, ``6h`` or ``1d``"
    pattern = "^[0-9]{1,4}[mhd]$"

    def __init__(self, shortest: str, longest: str) -> None:
        self._range = f"from {shortest} to {longest}"
        self.fallback, self._longest = self._seconds(shortest), self._seconds(longest)

    def take(self, text: str, reader: Reader) -> int:
        seconds = self._seconds(text)
        if not self.fallback <= seconds <= self._longest:
            reader.refuse(f"must be minutes, hours or days such as 30m, 6h or 1d, {self._range}")
        return seconds or self.fallback

    def _seconds(self, text: str) -> int:
        match = _DURATION.fullmatch(text)
        return int(match["number"]) * _UNITS[match["unit"]] if match else 0


class Url(TextKind[Secret]):
    """An http or https URL; secret, because it may carry a password."""

    words = "URL"
    fallback = Secret("")
    pattern = "^[Hh][Tt][Tt][Pp][Ss]?://"

    def take(self, text: str, reader: Reader) -> Secret:
        if grammar.url(text):
            return Secret(text)
        if grammar.has_wrong_port(text):  # which may be a password: it is not quoted
            reader.refuse("the port of the URL must be a number from 1 to 65535")
        else:
            reader.refuse(
                "must be a URL such as http://proxy.example.com:3128; characters that RFC 3986 "
                "does not allow must be percent-encoded"
            )
        return Secret("")


class OpenUrl(TextKind[str]):
    """An http or https URL without a login, which commands and files may show."""

    words, fallback, pattern = Url.words, "", Url.pattern

    def take(self, text: str, reader: Reader) -> str:
        url = Url().take(text, reader).reveal()
        if "@" in url:
            reader.refuse("must not carry a user name or password")
        return url


class PackageFile(TextKind[Path | None]):
    """A file in the VNF package, given relative to its root."""

    words = "file in the VNF package"
    noun, is_there = "file", staticmethod(Path.is_file)

    def __init__(self, largest: int = _LARGEST_FILE) -> None:
        self._largest = largest  # bytes

    def take(self, text: str, reader: Reader) -> Path | None:
        package = reader.context.package
        try:
            path = (package / text).resolve()
            is_there = self.is_there(path)
            size = path.stat().st_size if is_there else 0
        except (OSError, RuntimeError, ValueError) as error:  # too long, or links in a circle
            reason = getattr(error, "strerror", None) or error
            reader.refuse(f"cannot be the name of a {self.noun} in the VNF package: {reason}")
            return None
        if not path.is_relative_to(package.resolve()):
            reader.refuse(f"{text} lies outside the VNF package")
        elif not is_there:
            reader.refuse(f"the VNF package has no {self.noun} {text}")
        elif size > self._largest:
            reader.refuse(f"{text} is larger than {self._largest >> 20} MiB")
        else:
            self.check(path, reader)
            return path
        return None

    def check(self, path: Path, reader: Reader) -> None:
        """Note errors in what lies at the path."""


class TextFile(PackageFile):
    """A file of text in UTF-8."""

    def take(self, text: str, reader: Reader) -> Path | None:
        path = super().take(text, reader)
        try:
            content = path.read_bytes().decode() if path else ""
        except UnicodeDecodeError as error:
            reader.refuse(f"is not text in UTF-8: {error}")
            return None
        self.check_text(content, reader)
        return path

    def check_text(self, content: str, reader: Reader) -> None:
        """Note errors in the content, which is empty if there is no file."""


class ListOf(Kind[tuple[T, ...]]):
    fallback = absent = ()

    def __init__(
        self, kind: Kind[T], noun: str = "object", at_least_one: bool = False,
        check: Callable[[Sequence[T], Reader], None] = lambda items, reader: None,
    ) -> None:
        """:param check: notes errors of the items together"""
        self.kind, self._noun, self._at_least_one, self._check = kind, noun, at_least_one, check
        self.words = f"list of {noun}s"

    def parse(self, reader: Reader) -> tuple[T, ...]:
        if not isinstance(reader.value, list):
            reader.refuse(f"must be a list of {self._noun}s, not {reader.describe_kind()}")
            return ()
        if self._at_least_one and not reader.value:
            reader.refuse(f"must be a list with at least one {self._noun}")
        items = tuple(self.kind.parse(reader.at(n)) for n in range(len(reader.value)))
        self._check(items, reader)
        return items

    def schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "array", "items": self.kind.schema()}
        return {**schema, "minItems": 1} if self._at_least_one else schema


def is_object(reader: Reader) -> bool:
    if isinstance(reader.value, Mapping):
        return True
    reader.refuse(f"must be an object, not {reader.describe_kind()}")
    return False
