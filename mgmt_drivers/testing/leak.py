"""Connections to simulated machines that say what they must not: secrets, and what forges logs."""

import base64
import functools
import json
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast
from urllib.parse import quote

import paramiko

from mgmt_drivers.secret import Masker
from mgmt_drivers.ssh.connection import Connection, Endpoint
from mgmt_drivers.ssh.watchdog import Watchdog
from mgmt_drivers.testing.fakes import named
from mgmt_drivers.testing.simulation import SimulatedSession

FORGERY = "\x1b[2J\n2026-01-01 INFO forged\r\u2028"
_NO_INPUT = " </dev/null"
_SUDO = ("sudo", "-k", "-S", "-p", "", "--")
_LOCALE = ("env", "LC_ALL=C")
# What the driver makes itself: join tokens (their second half), and certificate keys.
_MADE = re.compile(rb"token: '?[a-z0-9]{6}\.([a-z0-9]{16})\b|certificateKey: '?([0-9a-f]{64})\b")
_TOKEN = re.compile('"token": "([^"]+)"')

Shape = tuple[str, ...]


class Leak:
    """The commands that are struck, the faults, and a record of all commands.

    :param secrets: what the machines know of the parameters
    """

    def __init__(self, secrets: list[str], shape: Shape = (), how: str = "") -> None:
        self.secrets, self.struck, self.how = list(secrets), shape, how
        self.shapes: dict[Shape, None] = {}
        self.lines: list[str] = []

    def note(self, line: str, shape: Shape, stdin: bytes) -> None:
        self.lines.append(line)
        self.shapes[shape] = None
        made = (half or key for half, key in _MADE.findall(stdin))
        self.learn(*map(bytes.decode, made))

    def learn(self, *texts: str) -> None:
        """Note a value that the machines know from now on."""
        self.secrets += [text for text in texts if text not in self.secrets]

    def answer(self, status: int, stdout: str, stderr: str) -> tuple[int, str, str]:
        """The output of a struck command, in place of its own output."""
        one = self.secrets[len(self.lines) % len(self.secrets)]
        escaped = [json.dumps(self.secrets), *map(quote, self.secrets)]
        told = FORGERY.join([one] if self.how == "lies" else [*self.secrets, *escaped])
        if self.how == "fails":
            return 1, stdout, told
        if self.how == "fails without a word":
            return 1, stdout, ""
        if self.how == "lies":
            return status, f"{told} {FORGERY}{told}", stderr  # also the first word lies
        return status, _spoilt(stdout, lambda text: f"{text}{FORGERY}{one}"), stderr


def _spoilt(text: str, spoil: Callable[[str], str]) -> str:
    """JSON with each of its strings spoilt; of anything else each line."""
    try:
        return json.dumps(_each(json.loads(text), spoil))
    except ValueError:
        return "\n".join(map(spoil, text.splitlines()))


def _each(value: Any, spoil: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: _each(item, spoil) for key, item in value.items()}
    if isinstance(value, list):
        return [_each(item, spoil) for item in value]
    return spoil(value) if isinstance(value, str) else value


def _accounts(text: str) -> Iterator[str]:
    """The token in what kubectl shows of an account's Secret, as it stands there and as it is."""
    for token in _TOKEN.findall(text):
        yield from (token, base64.b64decode(token).decode())


@functools.cache  # most commands are scripts of some thousand characters, and come again
def _words(line: str) -> tuple[str, ...]:
    return tuple(shlex.split(line))


def _command(words: tuple[str, ...]) -> tuple[str, ...]:
    """The command itself, of one that runs in the C locale."""
    assert words[: len(_LOCALE)] == _LOCALE, words
    return words[len(_LOCALE) :]


class _Said:
    has_begun = True

    def __init__(self, stdout: str, stderr: str) -> None:
        self._texts = "", stdout, stderr

    def texts(self) -> tuple[str, str, str]:
        return self._texts


class LeakingConnection(Connection):
    """A connection with a simulated session in place of its transport."""

    def __init__(
        self, endpoint: Endpoint, masker: Masker, session: SimulatedSession, leak: Leak
    ) -> None:
        nothing = cast(paramiko.Transport, None), cast(Watchdog, None)
        super().__init__(endpoint, *nothing, masker)
        self.has_former_login = session.has_former_login
        self._session_, self._leak = session, leak

    def _run_line(
        self, line: str, prefix: bytes, source: BinaryIO | None, timeout: float, limit: int
    ) -> tuple[int, Any]:
        words = _words(line.removesuffix(_NO_INPUT))
        if words == ("sudo", "-n", "true"):
            return 1, _Said("", "sudo: a password is required")
        sudo = words[: len(_SUDO)] == _SUDO
        argv = _command(words[len(_SUDO) :] if sudo else words)
        stdin = source.read() if source else b""
        shape = named(argv)[:2] if argv[0] != "kubectl" else ("kubectl", argv[7], argv[8])
        self._leak.note(line, shape, prefix + stdin)
        seen = self._session_.run(argv, stdin=stdin, sudo=sudo, check=False, limit=limit)
        answer = (seen.status, seen.stdout, seen.stderr)
        if shape == self._leak.struck:
            answer = self._leak.answer(*answer)
        self._leak.learn(*_accounts(seen.stdout))
        return answer[0], _Said(*answer[1:])

    def _begin_line(
        self, line: str, prefix: bytes, word: str, timeout: float
    ) -> tuple[int, Any]:
        argv = _command(_words(line)[len(_SUDO) :])
        self._leak.note(line, named(argv)[:2], prefix)
        seen = self._session_.hold(argv, word)
        return seen.status, _Said(seen.stdout, seen.stderr)

    def close(self) -> None:
        self._session_.close()
