"""An SSH connection to a machine, over paramiko, and the commands that are run over it."""

import contextlib
import logging
import shlex
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import paramiko

from mgmt_drivers import errors
from mgmt_drivers.clock import SYSTEM_CLOCK, NotYet
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh import conversation, limits
from mgmt_drivers.ssh.conversation import Output
from mgmt_drivers.ssh.hostkeys import KnownKey
from mgmt_drivers.ssh.session import COUNT, DEFAULT_OUTPUT, DEFAULT_TIMEOUT, Result, Stdin
from mgmt_drivers.ssh.watchdog import Watchdog, closed_after

LOG = logging.getLogger(__name__)

CONNECT_TIMEOUT = 10.0
# Seconds beyond a deadline for paramiko to end a command by itself.
_GRACE = 2.0
_CONSENT_LIMIT = 10.0  # seconds for the machine to begin a command
# paramiko may send EOF after CLOSE, and sshd then ends the connection. Commands without input read
# /dev/null, so no EOF is sent.
_NO_INPUT = " </dev/null"
# Commands at a time. sshd allows ten sessions by default (MaxSessions), and counts a session that
# has ended a little longer. The machine's lock takes one more session.
_SESSIONS = 4
_SESSION_LIMIT = 30.0  # seconds for a session to become free if sshd allows fewer
# Messages of programs are compared with English words. Behind sudo, which may set a locale.
_IN_ENGLISH = ("env", "LC_ALL=C")
_SHOWN = 1000  # characters of a command that logs and errors quote


@dataclass(frozen=True)
class Endpoint:
    """The address and the login of a machine; ``server_id`` is the key of its pinned host key.

    With a ``private_key`` (its text), ``password`` is for sudo only, if sudo asks for a password.
    The machine must show one of the ``host_keys``, if there are any. ``formers`` are logins that
    the machine may have in place of this one.
    """

    address: str
    username: str
    password: Secret | None
    server_id: str
    port: int = 22
    private_key: Secret | None = None
    host_keys: tuple[KnownKey, ...] = ()
    formers: "tuple[Endpoint, ...]" = ()
    is_former: bool = False


class Connection:
    """A logged-in connection; implements :class:`mgmt_drivers.ssh.session.Session`."""

    def __init__(
        self,
        endpoint: Endpoint,
        transport: paramiko.Transport,
        watchdog: Watchdog,
        masker: Masker,
    ) -> None:
        self._endpoint, self.has_former_login = endpoint, endpoint.is_former
        self._transport, self._watchdog = transport, watchdog
        self._masker = masker
        self._sudo_needs_password: bool | None = None
        self._sessions = threading.BoundedSemaphore(_SESSIONS)
        self._knows_shell = False  # whether a warning was logged that the shell prints something
        self._held: list[paramiko.Channel] = []  # paramiko closes a channel without references

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: Stdin = None,
        sudo: bool = False,
        check: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        limit: int = DEFAULT_OUTPUT,
    ) -> Result:
        shown = errors.printable(self._masker(_shown(["sudo", *argv] if sudo else argv)), _SHOWN)
        started = time.monotonic()
        COUNT.commands += 1
        with closing(conversation.source_of(stdin)) as source:
            line, prefix = self._line(argv, sudo)
            given = None if stdin is None and not prefix else source
            result = self._execute(line, prefix, given, timeout, shown, limit)
        LOG.debug(
            "%s: `%s` ended with status %d after %.2f s",
            self._endpoint.address, shown, result.status, time.monotonic() - started,
        )
        if check and not result.ok:
            raise errors.CommandFailed(shown, result.status, result.tail)
        return result

    def hold(self, argv: Sequence[str], word: str, *, timeout: float = DEFAULT_TIMEOUT) -> Result:
        shown = errors.printable(self._masker(_shown(["sudo", *argv])), _SHOWN)
        COUNT.commands += 1
        line, prefix = self._line(argv, sudo=True)
        with self._errors(shown, timeout):
            status, output = self._begin_line(line, prefix, word, timeout)
        return self._result(status, output, shown)

    def hide(self, *secrets: Secret) -> None:
        self._masker.learn(*secrets)

    def _line(self, argv: Sequence[str], sudo: bool) -> tuple[str, bytes]:
        """The line for the machine's shell, and what sudo must read before the command's input."""
        words = [*_IN_ENGLISH, *argv]
        if not sudo:
            return shlex.join(words), b""
        if self._sudo_needs_password is None:
            ask = "sudo -n true"
            result = self._execute(ask, b"", None, DEFAULT_TIMEOUT, ask)
            self._sudo_needs_password = not result.ok
        if self._sudo_needs_password and self._endpoint.password:
            # Without -k a sudo with cached credentials would leave the password to the command.
            password = self._endpoint.password.reveal().encode() + b"\n"
            return shlex.join(["sudo", "-k", "-S", "-p", "", "--", *words]), password
        return shlex.join(["sudo", "-n", "--", *words]), b""

    def _execute(
        self,
        line: str,
        prefix: bytes,
        source: BinaryIO | None,
        timeout: float,
        shown: str,
        limit: int = DEFAULT_OUTPUT,
    ) -> Result:
        if source is None:
            line += _NO_INPUT
        with self._errors(shown, timeout, limit):
            status, output = self._run_line(line, prefix, source, timeout, limit)
        return self._result(status, output, shown)

    def _result(self, status: int, output: Output, shown: str) -> Result:
        """The result of a command, without what the shell has printed before.

        :raises ConnectionFailed: when the shell has not run the command, and says that all is well
        """
        shell, stdout, stderr = output.texts()
        login = f"user {self._endpoint.username} on {self._endpoint.address}"
        quoted = errors.printable(self._masker(shell.strip()), _SHOWN)
        if not output.has_begun:
            if status == 0:
                raise errors.ConnectionFailed(
                    f"the shell of {login} did not run `{shown}`, but printed: {quoted}. Give the "
                    "user a shell such as bash, and no command in sshd_config or authorized_keys"
                )
            stdout = shell
        elif shell and not self._knows_shell:
            self._knows_shell = True
            LOG.warning(
                "the shell of %s prints something of its own, which is left out: %s. See its "
                "start-up files, such as .bashrc and /etc/ssh/sshrc", login, quoted,
            )
        return Result(status, stdout, stderr, self._masker)

    @contextmanager
    def _errors(
        self, shown: str, timeout: float, limit: int = DEFAULT_OUTPUT
    ) -> Iterator[None]:
        """Turn errors of a command into errors of the drivers."""
        try:
            yield
        except BufferError:
            raise errors.OutputTooLong(
                f"`{shown}` wrote more than {limit >> 10} KiB and was given up. Look at the "
                "machine: programs and start-up files of its image may write too much"
            ) from None
        except TimeoutError:
            raise errors.CommandTimeout(f"`{shown}` did not end within {timeout:g} s") from None
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise errors.ConnectionFailed(
                f"the connection to {self._endpoint.address} broke during `{shown}`: {error}"
            ) from error

    def _run_line(
        self, line: str, prefix: bytes, source: BinaryIO | None, timeout: float, limit: int
    ) -> tuple[int, Output]:
        """Run a line in a session, whose wait has no part in the timeout; raises TimeoutError."""
        with self._sessions:
            channel = self._session()
            with self._limit(timeout + _GRACE), closing(channel):
                deadline = time.monotonic() + timeout
                self._begin(channel, line)
                return conversation.converse(channel, prefix, source, deadline, limit=limit)

    def _begin_line(
        self, line: str, prefix: bytes, word: str, timeout: float
    ) -> tuple[int, Output]:
        """Begin a line in a session that stays open, and wait for a word; raises TimeoutError."""
        channel = self._session()
        self._held.append(channel)
        with self._limit(timeout + _GRACE):
            deadline = time.monotonic() + timeout
            self._begin(channel, line)
            with contextlib.suppress(OSError):  # the command has ended: converse returns its status
                channel.sendall(prefix)
            return conversation.converse(channel, b"", None, deadline, last_line=word)

    def _begin(self, channel: paramiko.Channel, line: str) -> None:
        """Request that the machine runs the line.

        paramiko would wait for the answer without a limit: after a limit the watchdog sets the
        event, and paramiko sees that the request failed. Closing the channel instead could block
        the watchdog.
        """
        with self._watchdog.after(_CONSENT_LIMIT, channel.event.set):
            channel.exec_command(f"echo {conversation.BEGIN}; {line}")

    def _limit(self, seconds: float) -> AbstractContextManager[None]:
        return closed_after(self._watchdog, self._transport, seconds)

    def _session(self) -> paramiko.Channel:
        def attempt() -> paramiko.Channel:
            try:
                return self._transport.open_session(timeout=CONNECT_TIMEOUT)
            except paramiko.SSHException as error:
                if not self._transport.is_active():
                    raise
                raise NotYet(f"refused: {error}") from error

        try:
            with self._limit(_SESSION_LIMIT + CONNECT_TIMEOUT + _GRACE):
                what = "a session (MaxSessions of sshd)"
                channel = SYSTEM_CLOCK.until(attempt, _SESSION_LIMIT, what)
        except errors.WaitTimeout as error:
            raise paramiko.SSHException(str(error)) from None
        limits.limit_unread(channel)
        return channel

    def close(self) -> None:
        self._transport.close()
        self._watchdog.close()


def _shown(argv: Sequence[str]) -> str:
    """The command for logs and errors, with dots in place of scripts."""
    words = ("..." if "\n" in word.strip() else shlex.quote(word) for word in argv)
    return " ".join(words)
