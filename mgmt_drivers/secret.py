"""Secrets: values that must reach a machine and nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass, field


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
    """Takes known secrets out of text that came from elsewhere (a command's output)."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        values = {secret.reveal() for secret in secrets if secret.reveal()}
        # Longest first: one secret may be part of another.
        self._values = sorted(values, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, "***")
        return text
