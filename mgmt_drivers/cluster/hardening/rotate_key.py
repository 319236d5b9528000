"""Rotate the key of the Secrets in etcd.

No apiserver ever finds a Secret that it cannot decrypt: all of them know the new key before the
first one encrypts by it, and the old one until no Secret needs it. After each step the apiservers
restart.
"""

from collections.abc import Callable

from mgmt_drivers.cluster.certificates import certificates
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.hardening import encryption
from mgmt_drivers.cluster.hardening.encryption import Key
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.engine.phase import Change, HostPhase, Prediction
from mgmt_drivers.engine.trace import CHANGED, Outcome
from mgmt_drivers.machine import files
from mgmt_drivers.machine.host import Host

Keys = tuple[Key, ...]


class GiveKeys(Change[Cluster, Keys]):
    """Another list of keys for a control-plane node, which the restart of its programs follows.

    :param arrange: returns the keys that a node is to have in place of its own
    """

    def __init__(self, title: str, arrange: Callable[[Keys], Keys]) -> None:
        self.title, self._arrange = title, arrange

    def look(self, host: Host, cluster: Cluster) -> Keys | None:
        own = encryption.read_keys(host)
        wanted = self._arrange(own)
        return None if wanted == own else wanted

    def act(self, host: Host, cluster: Cluster, keys: Keys) -> None:
        files.write(host, certificates.PENDING, "")
        encryption.write_keys(host, keys)


def steps(newest: Key) -> tuple[GiveKeys, GiveKeys, GiveKeys]:
    """The three steps in their order; all Secrets are encrypted again before the last one."""

    def add(own: Keys) -> Keys:
        return own if newest in own else (*own, newest)

    def lead(own: Keys) -> Keys:
        return (newest, *(key for key in own if key != newest))

    return (
        GiveKeys("add the new encryption key", add),
        GiveKeys("encrypt by the new key", lead),
        GiveKeys("remove the old encryption key", lambda own: (newest,)),
    )


class EncryptSecrets(HostPhase[Cluster]):
    """Write all Secrets again, which encrypts them by the new key."""

    title, prediction = "encrypt all Secrets again", Prediction(CHANGED)

    def step(self, host: Host, cluster: Cluster) -> Outcome:
        kubectl.rewrite(host, "secrets")
        return CHANGED
