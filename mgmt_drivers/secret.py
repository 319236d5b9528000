"""Secrets: values that must reach a machine and nothing else."""

import json
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

from mgmt_drivers import grammar

_TELLING = 16  # characters of a line


@dataclass(frozen=True)
class Secret:
    """A value that prints as asterisks; ``reveal`` is where it is used."""

    _value: str = field(repr=False)

    def reveal(self) -> str:
        return self._value

    def __str__(self) -> str:
        return "***"

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written anywhere")


class Masker:
    """Takes known secrets out of text that came from elsewhere (a command's output).

    Thread safe.
    """

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._lock = threading.Lock()
        self._values: list[str] = []
        self.learn(*secrets)

    def learn(self, *secrets: Secret) -> None:
        """Take these out as well, from now on."""
        with self._lock:
            parts = (part for secret in secrets for part in _parts(secret.reveal()))
            found = {form for part in parts for form in _forms(part)}
            # Longest first: one secret may be part of another.
            self._values = sorted(found.union(self._values), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, "***")
        return text


def _parts(text: str) -> Iterator[str]:
    """A secret, and of one of several lines, such as a key, each that tells something."""
    lines = text.splitlines()
    if text:
        yield text
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _TELLING)


def _forms(text: str) -> tuple[str, ...]:
    """A text as it is, and as JSON, URLs and files of variables write it; none is shorter."""
    return (
        text,
        json.dumps(text)[1:-1],
        json.dumps(text, ensure_ascii=False)[1:-1],
        quote(text, errors="replace"),
        quote(text, safe="", errors="replace"),
        quote_plus(text, errors="replace"),
        text.translate(grammar.IN_QUOTES),
    )
