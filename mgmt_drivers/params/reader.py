"""Reading untrusted values: every error is noted with its path, none stops the reading."""

import ipaddress
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from mgmt_drivers import grammar, package_yaml
from mgmt_drivers.errors import ParameterError
from mgmt_drivers.secret import Secret

# Stands for one that cannot be read; overlaps with nothing in use (RFC 2544).
_NEUTRAL_NETWORK = ipaddress.IPv4Network("198.18.0.0/15")
_SHORTEST_PREFIX = 8  # of a network
_LONGEST_TEXT = 16384  # characters; an RSA key of 16384 bits has some twelve thousand
_MOST = 100  # of what is counted
_LARGEST = 2**31  # of numbers that are taken as their digits

_Params = TypeVar("_Params")


class ValidationErrors:
    """What is wrong with a request, gathered while it is read."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, path: str, message: str) -> None:
        self.found.append(f"{path}: {message}")

    def raise_if_any(self) -> None:
        """:raises ParameterError: with all of them"""
        if self.found:
            raise ParameterError(self.found)


class Reader:
    """Reads the keys of one mapping.

    A method that meets an error notes it and returns a value of its type that
    must not be used: call :meth:`ValidationErrors.raise_if_any` before using any.
    """

    def __init__(self, values: Any, path: str, errors: ValidationErrors) -> None:
        self.path, self.errors = path, errors
        self._read: set[str] = set()
        self._values: Mapping[str, Any] = {}
        self.usable = isinstance(values, Mapping)
        if isinstance(values, Mapping):
            self._values = values
        else:
            errors.add(path, f"must be an object, not {_kind(values)}")

    def has(self, key: str) -> bool:
        self._read.add(key)
        return self._values.get(key) is not None

    def leave_out_blanks(self) -> None:
        """Take an empty string for a key that is left out, as forms and templates write it."""
        self._values = {key: None if text == "" else text for key, text in self._values.items()}

    def error(self, key: str, message: str) -> None:
        self.errors.add(f"{self.path}.{key}", message)

    def section(self, key: str) -> "Reader | None":
        """The object below ``key``; None where it is left out."""
        if not self.has(key):
            return None
        return Reader(self._values[key], f"{self.path}.{key}", self.errors)

    def required_section(self, key: str) -> "Reader":
        """The object below ``key``; where it is left out, one whose lacks are not noted."""
        section = self.section(key)
        if section is None:
            if self.usable:
                self.error(key, "missing")
            section = Reader({}, f"{self.path}.{key}", ValidationErrors())
            section.usable = False
        return section

    def sections(self, key: str, at_least_one: bool = False) -> "list[Reader]":
        """The objects of the list below ``key``; none where it is left out, if it may be."""
        values = self._values[key] if self.has(key) else []
        if at_least_one and values == []:
            self.error(key, "must be a list with at least one object")
        if not isinstance(values, list):
            self.error(key, f"must be a list of objects, not {_kind(values)}")
            return []
        path = f"{self.path}.{key}"
        return [Reader(value, f"{path}[{n}]", self.errors) for n, value in enumerate(values)]

    def text(self, key: str, digits: bool = False, lines: bool = False) -> str:
        """A string that is not empty and must be there, of characters that print.

        :param digits: a number will do as well, which is then taken as its digits
        :param lines: line feeds may be in it, too
        """
        if not self.has(key):
            if self.usable:
                self.error(key, "missing")
            return ""
        value = self._values[key]
        if digits and isinstance(value, int) and 0 <= value <= _LARGEST and value is not True:
            value = str(value)
        if not isinstance(value, str) or not value:
            self.error(key, f"must be a string that is not empty, not {_kind(value)}")
            return ""
        if len(value) > _LONGEST_TEXT:
            self.error(key, f"must not be longer than {_LONGEST_TEXT} characters")
            return ""
        if not (value.replace("\n", "") if lines else value).isprintable():
            self.error(key, "must not hold line breaks, NUL or other characters that do not print")
            return ""
        return value

    def texts(self, key: str) -> list[tuple[str, str]]:
        """The strings of the list below ``key``, each after its own key; none where left out."""
        values = self._values[key] if self.has(key) else None
        if values is None:
            return []
        if not isinstance(values, list):
            self.error(key, f"must be a list of strings, not {_kind(values)}")
            return []
        if not values:
            self.error(key, "must be a list with at least one string")
        items = {f"{key}[{n}]": value for n, value in enumerate(values)}
        reader = Reader(items, self.path, self.errors)
        return [(item, text) for item in items if (text := reader.text(item))]

    def optional_text(self, key: str) -> str | None:
        return self.text(key) if self.has(key) else None

    def secret(self, key: str) -> Secret:
        return Secret(self.text(key))

    def one_of(self, key: str, known: Collection[str], kind: str) -> str:
        """The name of something of a ``kind`` that the VNF package has."""
        name = self.text(key)
        if name and name not in known:
            names = ", ".join(sorted(known)) or "none"
            self.error(key, f"the VNF package has no {kind} {name}; it has: {names}")
        return name

    def choice(self, key: str, allowed: Sequence[str], default: str) -> str:
        """One of the ``allowed`` words."""
        value = self.text(key) if self.has(key) else default
        if value and value not in allowed:
            self.error(key, f"must be one of: {', '.join(allowed)}")
            return default
        return value

    def flag(self, key: str) -> bool:
        """Whether something is true, which it is not where it is left out."""
        value = self._values[key] if self.has(key) else False
        if not isinstance(value, bool):
            self.error(key, f"must be true or false, not {_kind(value)}")
        return value is True

    def network(
        self, key: str, default: str = "", or_address: bool = False
    ) -> ipaddress.IPv4Network:
        """An IPv4 network of machines in CIDR notation; bits beyond its prefix are dropped.

        None is larger than the largest that is anybody's own (RFC 1918, 10.0.0.0/8).

        :param or_address: an address will do as well, which is then a network of its own; not
            one that ends in 0, which rather is a network without its prefix
        """
        value = self.text(key) if self.has(key) or not default else default
        found = grammar.ipv4_network(value)
        if or_address and found is None and not value.endswith(".0"):
            found = grammar.ipv4_network(f"{value}/32")
        if value and found is None:
            also = ", or an address" if or_address else ""
            self.error(key, f"must be an IPv4 network such as 192.168.0.0/16{also}")
        special = grammar.special_part(found) if found else None
        if special:
            self.error(key, f"overlaps with {special}, where machines have no addresses")
        elif found and found.prefixlen < _SHORTEST_PREFIX:
            self.error(
                key,
                f"{found} is larger than any network of machines: use a prefix of "
                f"/{_SHORTEST_PREFIX} or longer",
            )
        return found or _NEUTRAL_NETWORK

    def port(self, key: str, default: int) -> int:
        """A TCP port number, also as a string of digits."""
        if not self.has(key):
            return default
        value = self._values[key]
        if isinstance(value, str):
            value = grammar.port(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 65536:
            self.error(key, "must be a TCP port number from 1 to 65535")
            return default
        return value

    def count(self, key: str, default: int) -> int:
        """A number of things, of which there is at least one."""
        if not self.has(key):
            return default
        value = self._values[key]
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= _MOST:
            self.error(key, f"must be a whole number from 1 to {_MOST}")
            return default
        return value

    def file(self, key: str, package: Path) -> Path | None:
        """A file in the VNF package, given relative to its root; None where left out."""
        if not self.has(key):
            return None
        name = self.text(key)
        if not name:
            return None
        try:
            path = (package / name).resolve()
            is_file = path.is_file()
        except (OSError, RuntimeError, ValueError) as error:  # too long, or links in a circle
            reason = getattr(error, "strerror", None) or error
            self.error(key, f"cannot be the name of a file in the VNF package: {reason}")
            return None
        if not path.is_relative_to(package.resolve()):
            self.error(key, f"{name} lies outside the VNF package")
            return None
        if not is_file:
            self.error(key, f"the VNF package has no file {name}")
            return None
        return path

    def text_file(self, key: str, package: Path) -> Path | None:
        """Like :meth:`file`, of text in UTF-8."""
        path = self.file(key, package)
        try:
            if path:
                path.read_bytes().decode()
        except UnicodeDecodeError as error:
            self.error(key, f"is not text in UTF-8: {error}")
            return None
        return path

    def yaml_file(self, key: str, package: Path, what: str) -> tuple[Path | None, list[Any]]:
        """Like :meth:`file`, and the file's documents; none where it is not ``what``."""
        path = self.file(key, package)
        if path is None:
            return None, []
        try:
            found = package_yaml.read_all(path)
        except package_yaml.BadYaml as error:
            self.error(key, f"is not {what}: {error}")
            return None, []
        if not found:
            self.error(key, f"is not {what}: it is empty")
        return path, found

    def url(self, key: str) -> Secret | None:
        """An http or https URL; secret, because it may carry a password."""
        if not self.has(key):
            return None
        value = self.text(key)
        if grammar.url(value):
            return Secret(value)
        if value:
            self.error(
                key,
                "must be a URL such as http://proxy.example.com:3128, with other characters "
                "than RFC 3986 has percent-encoded",
            )
        return Secret("")

    def end(self) -> None:
        """Note every key that nobody asked for."""
        for key in self._values:
            if key not in self._read:
                known = ", ".join(sorted(self._read))
                self.error(str(key), f"unknown parameter; known here: {known}")


def read_object(
    values: Mapping[str, Any], name: str, read: Callable[[Reader], _Params]
) -> _Params:
    """What ``read`` makes of the object below ``name``, which must be there.

    :raises ParameterError: with every error that was noted meanwhile
    """
    errors = ValidationErrors()
    if values.get(name) is None:
        errors.add(name, "missing in additionalParams")
        errors.raise_if_any()
    params = read(Reader(values[name], name, errors))
    errors.raise_if_any()
    return params


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list"}
    if value == "":
        return "an empty string"
    return names.get(type(value), "an object" if isinstance(value, Mapping) else "this")
