"""Errors of the Kubernetes API and of etcd that pass by themselves."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from mgmt_drivers.clock import Clock
from mgmt_drivers.errors import ConnectionFailed, EtcdAlarm, MgmtDriverError, WaitTimeout

T = TypeVar("T")

_LIMIT = 120.0  # seconds
# While etcd elects a leader or a member comes or goes (its api/v3rpc/rpctypes), while an
# apiserver starts or sheds load (reasons of the API's Status), and what clients make of both.
# A starting apiserver answers Forbidden to everybody until the roles are loaded.
_TRANSIENT = re.compile("|".join((
    r"etcdserver: (request timed out|leader changed|no leader|not leader|too many requests"
    r"|unhealthy cluster|re-configuration failed due to not enough started members)",
    r"Error from server \((ServiceUnavailable|ServerTimeout|Timeout|TooManyRequests)\)",
    r"Error from server \(Forbidden\): .* User \"kubernetes-admin\" cannot ",
    r"was refused|connection refused|connection reset by peer|client connection lost",
    r"context deadline exceeded|TLS handshake timeout|i/o timeout|unexpected EOF",
)))

_TIMED_OUT = "etcdserver: request timed out"
_SLOW_DISK = (
    "The disks of etcd may be too slow (in the guide: \"The disk\" of etcd): look at those of the "
    "control-plane nodes"
)
_NO_SPACE = "database space exceeded"  # what etcd answers whatever writes
NO_SPACE_CURE = (
    "etcd takes no more writes, since a database has reached its quota. Send a modification with "
    "`defragment_etcd`, then repeat the operation"
)


@contextmanager
def explained() -> Iterator[None]:
    """Add the cure to the error of a request that etcd has no space for."""
    try:
        yield
    except MgmtDriverError as error:
        if _NO_SPACE in str(error):
            raise EtcdAlarm(f"{error}. {NO_SPACE_CURE}") from error
        raise


def passes(text: str) -> bool:
    return bool(_TRANSIENT.search(text))


def retry(
    clock: Clock, request: Callable[[], T], check: Callable[[T], None] = lambda _: None
) -> T:
    """Make a request that is safe to repeat, again as long as its error is transient.

    :param check: raises what an answer tells of an error
    :raises WaitTimeout: with the last error, when it does not pass
    """
    seen: Exception | None = None
    for _ in clock.attempts(_LIMIT):
        try:
            with explained():
                answer = request()
                check(answer)
            return answer
        except ConnectionFailed:  # SSH's own: another request would not get through either
            raise
        except MgmtDriverError as error:
            if not passes(str(error)):
                raise
            seen = error
    advice = _SLOW_DISK if _TIMED_OUT in str(seen) else "Look at its control-plane nodes"
    raise WaitTimeout(
        f"the control plane did not answer within {_LIMIT:g} s; last seen: {seen}. "
        f"{advice}, then retry the operation"
    )
