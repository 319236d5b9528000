"""A place in untrusted values: errors are noted with their paths, and reading goes on."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mgmt_drivers.errors import ParameterError


def object_of(given: Any, name: str) -> Any:
    """The value of a parameter that may be text in JSON; raises ParameterError if it is not."""
    if not isinstance(given, str):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as error:
        raise ParameterError([f"{name}: must be an object, or its text in JSON: {error}"]) from None


class ValidationErrors:
    """The errors of a request, collected while the request is read."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def add(self, path: str, message: str) -> None:
        self.messages.append(f"{path}: {message}")

    def raise_if_any(self) -> None:
        """:raises ParameterError: with all errors, if there are any"""
        if self.messages:
            raise ParameterError(self.messages)


@dataclass(frozen=True)
class Context:
    """The VNF package, its names by kind of thing, and whether the request instantiates the VNF."""

    package: Path = Path("/nonexistent")
    names: Mapping[str, Collection[str]] = field(default_factory=dict)
    is_new: bool = True


class Reader:
    """A value and its path, with functions that note errors."""

    def __init__(
        self, value: Any, path: str, errors: ValidationErrors, context: Context | None = None
    ) -> None:
        self.value, self.path, self.errors = value, path, errors
        self.context = context or Context()

    def at(self, key: str | int) -> "Reader":
        """A reader of the value of a key, or of an item of a list; None if there is no value."""
        if isinstance(key, int):
            path = f"{self.path}[{key}]"
            value = self.value[key] if isinstance(self.value, list) else None
        else:
            path = f"{self.path}.{key}"
            value = self.value.get(key) if isinstance(self.value, Mapping) else None
        return Reader(value, path, self.errors, self.context)

    def has(self, key: str) -> bool:
        """Whether a key is given; null counts as left out."""
        return self.at(key).value is not None

    def refuse(self, message: str) -> None:
        self.errors.add(self.path, message)

    def describe_kind(self) -> str:
        """The type of the value in words, never the value, which may be a secret."""
        names = {str: "a string", bool: "a boolean", int: "a number", float: "a number"}
        if self.value is None:
            return "null"
        if self.value == "":
            return "an empty string"
        if isinstance(self.value, list):
            return "a list"
        is_object = isinstance(self.value, Mapping)
        return names.get(type(self.value), "an object" if is_object else "this")
