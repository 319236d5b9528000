"""A place in untrusted values: every error is noted with its path, none stops the reading."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mgmt_drivers.errors import ParameterError


class ValidationErrors:
    """The errors of a request, gathered while it is read."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, path: str, message: str) -> None:
        self.found.append(f"{path}: {message}")

    def raise_if_any(self) -> None:
        """:raises ParameterError: with all of them"""
        if self.found:
            raise ParameterError(self.found)


@dataclass(frozen=True)
class Context:
    """The VNF package that parameters name files of, and the names in it by kind of thing.

    ``is_new``: nothing was made with these parameters yet.
    """

    package: Path = Path("/nonexistent")
    names: Mapping[str, Collection[str]] = field(default_factory=dict)
    is_new: bool = True


class Reader:
    """A value and its path. Whoever meets an error notes it, and goes on reading."""

    def __init__(
        self, value: Any, path: str, errors: ValidationErrors, context: Context | None = None
    ) -> None:
        self.value, self.path, self.errors = value, path, errors
        self.context = context or Context()

    def at(self, key: str | int) -> "Reader":
        """The value below a key, or at a number of a list; None if there is none."""
        if isinstance(key, int):
            path = f"{self.path}[{key}]"
            value = self.value[key] if isinstance(self.value, list) else None
        else:
            path = f"{self.path}.{key}"
            value = self.value.get(key) if isinstance(self.value, Mapping) else None
        return Reader(value, path, self.errors, self.context)

    def has(self, key: str) -> bool:
        """Whether a key is given; null stands for one that is left out."""
        return self.at(key).value is not None

    def refuse(self, message: str) -> None:
        """Note what is wrong with the value."""
        self.errors.add(self.path, message)

    def told_kind(self) -> str:
        """The kind of the value in words, never the value: it may be a secret."""
        names = {str: "a string", bool: "a boolean", int: "a number", float: "a number"}
        if self.value is None:
            return "null"
        if self.value == "":
            return "an empty string"
        if isinstance(self.value, list):
            return "a list"
        return names.get(type(self.value), "an object" if self._is_object else "this")

    @property
    def _is_object(self) -> bool:
        return isinstance(self.value, Mapping)
