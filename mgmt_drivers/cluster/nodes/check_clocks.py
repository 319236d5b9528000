"""See that the clocks of machines agree."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager

from mgmt_drivers.clock import NotYet
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.engine.phase import Ask, Phase, Prediction, Step
from mgmt_drivers.engine.trace import CHECKED, Outcome
from mgmt_drivers.errors import WaitTimeout, WrongClock
from mgmt_drivers.machine import clocks
from mgmt_drivers.machine.clocks import Offset
from mgmt_drivers.machine.host import Host

_MOST = 5.0  # seconds between two clocks
_LIMIT = 60.0  # seconds for a machine that has just booted to set its clock


class CheckClocks(Phase[Cluster]):
    """Compare the clocks of new machines with the leader's, for etcd and certificates."""

    title = "compare clocks"
    prediction = Prediction(CHECKED)

    @contextmanager
    def around(self, cluster: Cluster, ask: Ask) -> Iterator[Step[Cluster]]:
        """Ask the leader once for all, as far as no clock differs."""
        yield functools.partial(_compare, first=ask(cluster.leader, clocks.read_offset))


def _compare(host: Host, cluster: Cluster, first: Offset) -> Outcome:
    references = [first]

    def agree() -> None:
        reference = references.pop() if references else clocks.read_offset(cluster.leader)
        own = clocks.read_offset(host)
        seconds = own.seconds - reference.seconds
        if abs(seconds) - own.tolerance - reference.tolerance > _MOST:
            direction = "ahead of" if seconds > 0 else "behind"
            raise NotYet(f"{abs(seconds):.1f} s {direction} that of {cluster.leader.node}")

    try:
        host.clock.until(agree, _LIMIT, "the machine's clock agrees with the leader's")
    except WaitTimeout as error:
        raise WrongClock(
            f"the machine's clock is {error.__cause__}. Let both machines synchronize their "
            "clocks (chrony or systemd-timesyncd, and time servers that they reach), then retry "
            "the operation"
        ) from error
    return CHECKED
