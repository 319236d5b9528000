"""Control-plane nodes that are left out of the load balancers while their apiservers stop."""

import functools
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.load_balancer import haproxy
from mgmt_drivers.engine import lock
from mgmt_drivers.engine.phase import HostPhase, Prediction
from mgmt_drivers.engine.trace import UNCHANGED, Outcome
from mgmt_drivers.errors import CommandTimeout, ConnectionFailed, text_of
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script

LOG = logging.getLogger(__name__)

_SCRIPT = Script(__package__, "leave-out")
_GUARD = "guard of the load balancer"  # a fact: the connection has one


class LeftOut(HostPhase[Cluster]):
    """Run a phase on control-plane nodes, each left out of the load balancers meanwhile.

    HAProxy notices by itself after six seconds, or after connections that failed. It keeps in its
    memory alone what it is told: when the operation's connection ends, however it does, and when
    HAProxy reads its configuration, all nodes are in again.

    A HAProxy that cannot be told is logged, since it notices by itself. A control-plane node that
    does not answer ends the phase before anything stops.

    :param balancers: control-plane nodes whose HAProxy is told
    :param ends_connections: whether connections to the node end at once, which is better than an
        apiserver without etcd; an apiserver that ends closes them when it has answered
    """

    def __init__(
        self, phase: HostPhase[Cluster], balancers: Sequence[Host], ends_connections: bool
    ) -> None:
        self.title, self._phase, self._balancers = phase.title, phase, balancers
        self._state = "maint" if ends_connections else "drain"

    def predict(self, host: Host, cluster: Cluster) -> Prediction:
        return self._phase.prediction or self._phase.predict(host, cluster)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        if not cluster.topology.is_ha or self.predict(host, cluster).outcome == UNCHANGED:
            return self._phase.step(host, cluster)
        with self._left_out(cluster.name(host)):
            return self._phase.step(host, cluster)

    @contextmanager
    def _left_out(self, name: str) -> Iterator[None]:
        guarded = [balancer for balancer in self._balancers if _has_guard(balancer)]
        for balancer in guarded:
            _tell(balancer, "out", name, self._state)
        yield
        # After a failure the guards do it: the connection may be lost.
        for balancer in guarded:
            try:
                _tell(balancer, "in", name)
            except (CommandTimeout, ConnectionFailed) as error:  # the node itself is verified
                LOG.warning("HAProxy of %s is not told 'in': %s", balancer.node, text_of(error))


def _has_guard(balancer: Host) -> bool:
    return balancer.once(_GUARD, functools.partial(_tell, balancer, "guard", lock.PATH))


def _tell(balancer: Host, verb: str, *words: str) -> bool:
    answer = balancer.ask(*_SCRIPT.command(verb, haproxy.SOCKET, *words))
    if not answer.ok and answer.tail:
        LOG.warning("HAProxy of %s is not told '%s': %s", balancer.node, verb, answer.tail)
    return answer.ok
