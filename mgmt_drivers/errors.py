"""Errors of the drivers. Users read their text in the operation occurrence."""

from collections.abc import Sequence

_LONGEST = 4000  # characters


def printable(text: str, longest: int = _LONGEST) -> str:
    """Make an untrusted text fit for errors and logs: one line, a long text without its middle.

    Non-printable characters, line feeds among them, are escaped: they could forge lines of a log,
    or control a terminal.
    """
    left_out = len(text) - longest
    if left_out > 0:
        half = longest // 2
        text = f"{text[:half]} [... {left_out} characters ...] {text[-half:]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class MgmtDriverError(Exception):
    """Base of all errors that the drivers raise on purpose; the text is :func:`printable`."""

    longest = _LONGEST  # characters

    def __init__(self, text: str = "") -> None:
        super().__init__(printable(text, self.longest))


class ParameterError(MgmtDriverError):
    """The request is not valid; lists every error with its path."""

    longest = 16 * _LONGEST

    def __init__(self, errors: Sequence[str]) -> None:
        self.errors = tuple(map(printable, errors))
        super().__init__("invalid parameters: " + "; ".join(self.errors))


class InventoryError(MgmtDriverError):
    """Heat or Tacker does not have a machine or an address that the operation needs."""


class ConnectionFailed(MgmtDriverError):
    """A machine cannot be reached, or refuses the login."""


class WrongHostKey(ConnectionFailed):
    """A machine shows another SSH host key than expected."""


class Locked(MgmtDriverError):
    """Another operation works on a machine."""


class NotMade(MgmtDriverError):
    """A dry run has asked a machine that does not exist yet."""


class CommandFailed(MgmtDriverError):
    """A command ended with another status than 0; ``command`` and ``tail`` hold no secret."""

    def __init__(self, command: str, status: int, tail: str) -> None:
        self.command, self.status, self.tail = command, status, tail
        super().__init__(f"`{command}` ended with status {status}: {tail or '(no output)'}")


class OutputTooLong(MgmtDriverError):
    """A command exceeded the output limit."""


class CommandTimeout(MgmtDriverError):
    """A command did not end before its deadline."""


class WaitTimeout(MgmtDriverError):
    """A condition did not become true in time; the text has the last observation."""


def text_of(error: Exception) -> str:
    """The text of an error; with the type if the error is unexpected and may have no text."""
    if isinstance(error, MgmtDriverError):
        return str(error)
    return printable(": ".join(filter(None, (type(error).__name__, str(error)))))


class NodeError(MgmtDriverError):
    """The failure of one phase on one node."""

    longest = 2 * _LONGEST

    def __init__(
        self, node: object, phase: str, cause: Exception, untried: Sequence[object] = ()
    ) -> None:
        self.node, self.phase, self.cause = node, phase, cause
        rest = f" (not tried after that: {', '.join(map(str, untried))})" if untried else ""
        super().__init__(f"{node}, phase '{phase}': {text_of(cause)}{rest}")


class OperationError(MgmtDriverError):
    """An operation that failed, with the errors of all nodes together."""

    longest = 16 * _LONGEST

    def __init__(self, operation: str, errors: Sequence[NodeError]) -> None:
        self.errors = tuple(errors)
        super().__init__(f"{operation} failed: " + " | ".join(map(str, self.errors)))
