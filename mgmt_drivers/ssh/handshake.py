"""Log in to a machine over SSH, which may still be booting."""

import logging
import socket
import time
from collections import deque

import paramiko

from mgmt_drivers.clock import SYSTEM_CLOCK, NotYet
from mgmt_drivers.errors import ConnectionFailed, WaitTimeout, WrongHostKey
from mgmt_drivers.secret import Masker
from mgmt_drivers.ssh import algorithms, keys, limits
from mgmt_drivers.ssh.connection import CONNECT_TIMEOUT, Connection, Endpoint
from mgmt_drivers.ssh.hostkeys import HostKeys, check_known
from mgmt_drivers.ssh.watchdog import Watchdog, closed_after

# paramiko logs a traceback for each attempt to reach a machine that still
# boots; the error of the drivers has the final cause.
_QUIET = logging.getLogger(f"{__name__}.paramiko")
_QUIET.setLevel(logging.CRITICAL)

BOOT_LIMIT = 600.0  # seconds for a new machine to answer on its SSH port
LOGIN_LIMIT = 30.0  # seconds for cloud-init to have set the password
_HANDSHAKE_LIMIT = 60.0  # seconds to log in, once the port answers
_KEEPALIVE = 15
# Signature algorithms of host key types that have another name than their algorithm.
_SIGNATURES = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256")}


class _Refused(Exception):
    """The error of a machine that answers but refuses the login: cloud-init may not have ended."""


def connect(
    endpoint: Endpoint,
    host_keys: HostKeys,
    masker: Masker,
    boot_limit: float = BOOT_LIMIT,
    login_limit: float = LOGIN_LIMIT,
) -> Connection:
    """Log in to a machine, which may still be booting.

    :raises ConnectionFailed: no answer within ``boot_limit`` seconds, or no
        login within ``login_limit`` seconds after the first answer
    :raises WrongHostKey: see :mod:`mgmt_drivers.ssh.hostkeys`
    """
    refused_since: list[float] = []
    refusals: list[ConnectionFailed] = []
    logins = deque([endpoint, *endpoint.formers])  # the next one to try first

    def attempt() -> Connection:
        try:
            return _log_in(endpoint, logins, host_keys, masker)
        except _Refused as refusal:
            refusals.append(refusal.args[0])
            refused_since.append(time.monotonic())
            if refused_since[-1] - refused_since[0] > login_limit:
                raise refusals[-1] from None
            raise NotYet(str(refusal)) from refusal
        except (OSError, EOFError, paramiko.SSHException) as error:
            refused_since.clear()  # the machine boots, and may refuse logins once more
            raise NotYet(f"{type(error).__name__}: {error}") from error

    try:
        what = f"SSH to {endpoint.address} port {endpoint.port}"
        return SYSTEM_CLOCK.until(attempt, boot_limit, what)
    except WaitTimeout as error:
        # The last attempt's cause tells a refused login from a machine that does not answer.
        refusal = error.__cause__ and error.__cause__.__cause__
        if isinstance(refusal, _Refused):
            raise refusals[-1] from None
        # A machine that bans whoever tries wrong logins no longer answers (fail2ban).
        before = f". Before that, {refusals[-1]}" if refusals else ""
        raise ConnectionFailed(f"{error}{before}") from None


def _log_in(
    endpoint: Endpoint, logins: deque[Endpoint], host_keys: HostKeys, masker: Masker
) -> Connection:
    target = (endpoint.address, endpoint.port)
    sock = socket.create_connection(target, timeout=CONNECT_TIMEOUT)
    weak = {"pubkeys": algorithms.WEAK_SIGNATURES}
    transport = paramiko.Transport(sock, disabled_algorithms=weak)
    limits.limit_packets(transport, sock)
    transport.set_log_channel(_QUIET.name)
    algorithms.restrict(transport)
    watchdog = Watchdog()
    try:
        with closed_after(watchdog, transport, _HANDSHAKE_LIMIT):
            login = _shake_hands(transport, endpoint, logins, host_keys)
    except BaseException as error:
        watchdog.close()
        transport.close()
        if not isinstance(error, paramiko.AuthenticationException):
            raise
        reason = str(error).rstrip(".")
        raise _Refused(ConnectionFailed(
            f"{endpoint.address} refuses the login of user {endpoint.username}: {reason}. "
            "Check the user name and the password (or private key) in additionalParams"
        )) from None
    return Connection(login, transport, watchdog, masker)


def _shake_hands(
    transport: paramiko.Transport, endpoint: Endpoint, logins: deque[Endpoint], host_keys: HostKeys
) -> Endpoint:
    """Check the machine's host key, and log in; returns the login that the machine has."""
    types = host_keys.types_of(endpoint.server_id, endpoint.host_keys)
    if types:
        options = transport.get_security_options()
        wanted = (name for type_ in types for name in _SIGNATURES.get(type_, (type_,)))
        # Old versions of paramiko lack SHA-2.
        known = tuple(dict.fromkeys(name for name in wanted if name in options.key_types))
        # Offered first, so that a server with several keys shows a known key.
        options.key_types = (*known, *(t for t in options.key_types if t not in known))
    transport.start_client(timeout=CONNECT_TIMEOUT)
    shown = transport.get_remote_server_key()
    host_keys.check(endpoint.server_id, endpoint.address, shown)
    try:
        check_known(endpoint.host_keys, endpoint.address, shown)
    except WrongHostKey as error:
        raise _Refused(error) from None
    _try_logins(transport, logins)
    host_keys.pin(endpoint.server_id, shown)
    transport.set_keepalive(_KEEPALIVE)
    return logins[0]


def _try_logins(transport: paramiko.Transport, logins: deque[Endpoint]) -> None:
    """Log in by one of the logins, which is the first one then.

    sshd ends the connection after a few (MaxAuthTries): the next connection goes on with the rest.
    """
    for left in reversed(range(len(logins))):
        try:
            _authenticate(transport, logins[0])
            break
        except paramiko.AuthenticationException:
            logins.rotate(-1)
            if not left or not transport.is_active():
                raise


def _authenticate(transport: paramiko.Transport, endpoint: Endpoint) -> None:
    if endpoint.private_key:
        transport.auth_publickey(endpoint.username, keys.load(endpoint.private_key))
    else:
        password = endpoint.password.reveal() if endpoint.password else ""
        transport.auth_password(endpoint.username, password)
