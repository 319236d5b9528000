"""Secrets: values for machines that must not appear in logs, errors and commands."""

import json
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus

from mgmt_drivers import grammar

_TELLING = 16  # characters from which on a line of a secret is masked by itself


@dataclass(frozen=True)
class Secret:
    """A value that prints as asterisks; ``reveal`` returns the value itself."""

    _value: str = field(repr=False)

    def reveal(self) -> str:
        return self._value

    def __str__(self) -> str:
        return "***"

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> str:
        raise TypeError("a secret cannot be pickled")


class Masker:
    """Masks known secrets in text, such as the output of a command. Thread safe."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        self._lock = threading.Lock()
        self._values: list[str] = []
        self.learn(*secrets)

    def learn(self, *secrets: Secret) -> None:
        """Mask further secrets from now on."""
        with self._lock:
            parts = {part for secret in secrets for part in _parts(secret.reveal())}
            forms = {form for part in parts for form in _forms(part)}
            # Longest first: one secret may be part of another.
            self._values = sorted(forms.union(self._values), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, "***")
        return text


def _parts(text: str) -> Iterator[str]:
    """A secret, and the long lines of a secret of several lines, such as a key."""
    lines = text.splitlines()
    if text:
        yield text
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= _TELLING)


def _forms(text: str) -> tuple[str, ...]:
    """A text itself, and its forms in JSON, URLs and files of variables; none is shorter."""
    return (
        text,
        json.dumps(text)[1:-1],
        json.dumps(text, ensure_ascii=False)[1:-1],
        quote(text, errors="replace"),
        quote(text, safe="", errors="replace"),
        quote_plus(text, errors="replace"),
        text.translate(grammar.IN_QUOTES),
    )
