"""Errors of the drivers. Users read their text in the operation occurrence.

Each kind has a stable code, by which users search the guide (``reference/error-codes``), and
monitoring tells failures apart while texts become better. Codes are words, as those of Ceph's
health checks and of kubeadm's preflight checks are: who reads a log needs no table of numbers.
"""

import re
from collections.abc import Sequence

_LONGEST = 4000  # characters
_CODE = re.compile(r"\[KV-[A-Z-]+\] ")


def printable(text: str, longest: int = _LONGEST) -> str:
    """Make an untrusted text fit for errors and logs: one line, a long text without its middle.

    Non-printable characters, line feeds among them, are escaped: they could forge lines of a log,
    or control a terminal.
    """
    left_out = len(text) - longest
    if left_out > 0:
        half = longest // 2
        text = f"{text[:half]} [... {left_out} characters ...] {text[-half:]}"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class MgmtDriverError(Exception):
    """Base of all errors that the drivers raise on purpose; the text is :func:`printable`.

    The text begins with the code of its kind, and is without the codes of errors that it quotes:
    one failure has one code. A kind without a code keeps the codes of the errors that it gathers.
    """

    longest = _LONGEST  # characters
    code = ""

    def __init__(self, text: str = "") -> None:
        if self.code:
            text = f"[{self.code}] {_CODE.sub('', text)}"
        super().__init__(printable(text, self.longest))


class Unexpected(MgmtDriverError):
    """An error that the drivers do not raise on purpose: a fault of theirs, or of a library."""

    code = "KV-UNEXPECTED"


class ParameterError(MgmtDriverError):
    """The request is not valid; lists every error with its path."""

    longest = 16 * _LONGEST
    code = "KV-PARAMETERS"

    def __init__(self, errors: Sequence[str]) -> None:
        self.errors = tuple(printable(_CODE.sub("", error)) for error in errors)
        super().__init__("invalid parameters: " + "; ".join(self.errors))


class InventoryError(MgmtDriverError):
    """Heat or Tacker does not have a machine or an address that the operation needs."""

    code = "KV-INVENTORY"


class ServiceFailed(InventoryError):
    """Heat, or a service that Heat or Tacker asks, did not do what the operation needs."""

    code = "KV-OPENSTACK"


class BadPackage(MgmtDriverError):
    """A file of the VNF package, or what the package says of itself, cannot be used."""

    code = "KV-PACKAGE"


class Refused(MgmtDriverError):
    """The cluster can never take the operation, or the operation would destroy the cluster."""

    code = "KV-REFUSED"


class HeldByRail(MgmtDriverError):
    """An automatic heal that a guard rail refuses."""

    code = "KV-RAIL"


class NoQuorum(MgmtDriverError):
    """etcd has no quorum, or would have none after the operation."""

    code = "KV-QUORUM"


class EtcdError(MgmtDriverError):
    """etcd does not answer as it must."""

    code = "KV-ETCD"


class EtcdAlarm(MgmtDriverError):
    """etcd has an alarm, or no space for writes."""

    code = "KV-ETCD-ALARM"


class ClusterError(MgmtDriverError):
    """The cluster is not in the state that the operation needs."""

    code = "KV-CLUSTER"


class DrainFailed(MgmtDriverError):
    """The pods of a node do not end."""

    code = "KV-DRAIN"


class CertificateError(MgmtDriverError):
    """A certificate cannot be read, issued or renewed."""

    code = "KV-CERTIFICATE"


class EncryptionError(MgmtDriverError):
    """The keys that encrypt Secrets in etcd are not those that the drivers give."""

    code = "KV-ENCRYPTION"


class AddonFailed(MgmtDriverError):
    """An add-on, or Helm, cannot be installed."""

    code = "KV-ADDON"


class VolumeError(MgmtDriverError):
    """A volume, its file system, its export or its PersistentVolume cannot be used."""

    code = "KV-VOLUME"


class BackupError(MgmtDriverError):
    """A backup is not there, or cannot be restored."""

    code = "KV-BACKUP"


class DamagedMetadata(MgmtDriverError):
    """Somebody has changed what the drivers keep with the VNF instance."""

    code = "KV-METADATA"


class MachineUnfit(MgmtDriverError):
    """A machine does not suit: its system, its space, its settings, or what it says of itself."""

    code = "KV-MACHINE"


class WrongClock(MgmtDriverError):
    """The clocks of two machines differ."""

    code = "KV-CLOCK"


class InstallationFailed(MgmtDriverError):
    """Packages, or the script of the VNF package, cannot be installed on a machine."""

    code = "KV-INSTALL"


class RegistryError(MgmtDriverError):
    """A registry, or an image of one, cannot be reached, used or served."""

    code = "KV-REGISTRY"


class ConnectionFailed(MgmtDriverError):
    """A machine cannot be reached, or refuses the login."""

    code = "KV-SSH"


class WrongHostKey(ConnectionFailed):
    """A machine shows another SSH host key than expected."""

    code = "KV-HOST-KEY"


class Locked(MgmtDriverError):
    """Another operation works on a machine."""

    code = "KV-LOCKED"


class NotMade(MgmtDriverError):
    """A dry run has asked a machine that does not exist yet."""


class CommandFailed(MgmtDriverError):
    """A command ended with another status than 0; ``command`` and ``tail`` hold no secret."""

    code = "KV-COMMAND"

    def __init__(self, command: str, status: int, tail: str) -> None:
        self.command, self.status, self.tail = command, status, tail
        super().__init__(f"`{command}` ended with status {status}: {tail or '(no output)'}")


class OutputTooLong(MgmtDriverError):
    """A command exceeded the output limit."""

    code = "KV-COMMAND"


class CommandTimeout(MgmtDriverError):
    """A command did not end before its deadline."""

    code = "KV-TIMEOUT"


class WaitTimeout(MgmtDriverError):
    """A condition did not become true in time; the text has the last observation."""

    code = "KV-TIMEOUT"


def text_of(error: Exception) -> str:
    """The text of an error; with the type if the error is unexpected and may have no text."""
    if isinstance(error, MgmtDriverError):
        return str(error)
    return str(Unexpected(": ".join(filter(None, (type(error).__name__, str(error))))))


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


class Explained(MgmtDriverError):
    """An error with more advice, or more facts, at its end."""

    longest = OperationError.longest

    def __init__(self, error: MgmtDriverError, more: str) -> None:
        super().__init__(f"{error}. {more}")
