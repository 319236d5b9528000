"""Errors of the Kubernetes API and of etcd that pass by themselves."""

import re
from collections.abc import Callable
from typing import TypeVar

from mgmt_drivers.clock import Clock
from mgmt_drivers.errors import ConnectionFailed, MgmtDriverError, WaitTimeout

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


def retry(
    clock: Clock, request: Callable[[], T], check: Callable[[T], None] = lambda _: None
) -> T:
    """Make a request that is safe to repeat, again as long as its error is transient.

    :param check: raises what an answer tells of an error
    :raises WaitTimeout: with the last error, when it does not pass
    """
    seen = MgmtDriverError()
    for _ in clock.attempts(_LIMIT):
        try:
            answer = request()
            check(answer)
            return answer
        except ConnectionFailed:  # SSH's own: another request would not get through either
            raise
        except MgmtDriverError as error:
            if not _TRANSIENT.search(str(error)):
                raise
            seen = error
    raise WaitTimeout(
        f"the control plane did not answer within {_LIMIT:g} s; last seen: {seen}. "
        "Look at its control-plane nodes, then retry the operation"
    )
