"""The certificates of a control-plane node: how long they last, and their renewal by kubeadm.

kubeadm issues them for a year, its CAs for ten (its documentation, "Certificate Management with
kubeadm"). kubeadm renews those that its CAs have signed, and no CA. kubelet renews its own.
"""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timezone
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from mgmt_drivers.clock import NotYet
from mgmt_drivers.cluster.certificates import control_plane_program
from mgmt_drivers.cluster.kubeadm import kubeadm
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine.host import Host

LOG = logging.getLogger(__name__)

_DAY = 86400.0  # seconds
# An operation renews what expires within a quarter of kubeadm's year: a cluster that is scaled,
# healed or upgraded once in three months never comes near the end.
SOON = 90.0  # days
# What a request renews: all but what is less than a day old, which an attempt before has renewed.
ALL = 364.0  # days
# With less than that left of a CA, what it signs for a year ends with it.
AUTHORITY_SOON = 365.0  # days
# kubelet's own, which kubelet renews when between a tenth and three tenths of the year are left
# (k8s.io/client-go/util/certificate): less than that, and kubelet does not.
KUBELET_SOON = 30.0  # days

KUBELET = "kubelet"
AUTHORITIES = ("ca", "front-proxy-ca", "etcd-ca")
RENEWED = (
    "apiserver", "apiserver-kubelet-client", "apiserver-etcd-client", "front-proxy-client",
    "etcd-server", "etcd-peer", "etcd-healthcheck-client",
    "admin.conf", "super-admin.conf", "controller-manager.conf", "scheduler.conf",
)  # fmt: skip
_KNOWN = (*RENEWED, KUBELET, *AUTHORITIES)
ETCD = "etcd"
# In the order in which they are restarted: each needs those before it.
PROGRAMS = (ETCD, "kube-apiserver", "kube-controller-manager", "kube-scheduler")

_PROGRAM = Path(control_plane_program.__file__).read_text()
# Seconds for kubelet to start a program anew. An apiserver takes up to one minute to end its
# requests, and one that fails is started after five minutes at the latest.
_RESTART_LIMIT = 420.0


@dataclass(frozen=True)
class Certificate:
    """A certificate, known by its fingerprint; ``end`` is in seconds since the epoch."""

    name: str
    fingerprint: bytes
    end: float

    def days_left(self, now: float) -> int:
        """Whole days; negative when it has expired."""
        return math.floor((self.end - now) / _DAY)

    def ending(self, now: float) -> str:
        """The days left, in words."""
        days = self.days_left(now)
        return "has expired" if days < 0 else f"expires in {days} days"


@dataclass(frozen=True)
class ControlPlaneState:
    """What a control-plane node has, and which programs use what is no longer there.

    ``certificates`` and ``outdated`` (certificates that a program has in an older edition) are by
    name. ``settled`` are the programs that run and show a certificate wherever they have to.
    """

    certificates: Mapping[str, Certificate]
    outdated: Mapping[str, Sequence[str]]
    settled: frozenset[str]

    def due(self, now: float, within: float) -> list[Certificate]:
        """What kubeadm can renew, and what expires within so many days."""
        found = [self.certificates[name] for name in RENEWED if name in self.certificates]
        return [certificate for certificate in found if certificate.end - now < within * _DAY]

    def needs_renewal(self, now: float, within: float) -> bool:
        """Whether something is due, or a renewal was broken off."""
        return bool(self.due(now, within) or self.outdated)

    def worries(self, now: float) -> list[str]:
        """What ends soon and is renewed by nobody: CAs, and what kubelet has failed to renew."""
        limits = {KUBELET: KUBELET_SOON, **dict.fromkeys(AUTHORITIES, AUTHORITY_SOON)}
        found = [self.certificates[name] for name in limits if name in self.certificates]
        return [
            f"{certificate.name} {certificate.ending(now)}"
            for certificate in found
            if certificate.end - now < limits[certificate.name] * _DAY
        ]

    @property
    def unsettled(self) -> list[str]:
        """The programs that have to be restarted, or waited for, in their order."""
        return [p for p in PROGRAMS if p in self.outdated or p not in self.settled]


def read(host: Host) -> ControlPlaneState:
    """Look at a control-plane node.

    :raises MgmtDriverError: when a file holds no certificate, or the answer is none
    """
    shown = host.sudo("python3", "-c", _PROGRAM)
    try:
        return _state(**json.loads(shown))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise MgmtDriverError("the machine does not tell of its certificates") from error


def renew(host: Host, before: Sequence[Certificate]) -> None:
    """Renew all that kubeadm can renew; programs go on with what they have.

    :param before: of which each must have been renewed
    """
    kubeadm.renew_certificates(host)
    after = read(host).certificates
    left = [old.name for old in before if after.get(old.name) in (None, old)]
    if left:
        raise MgmtDriverError(
            f"kubeadm did not renew {', '.join(left)}: where the key of a CA does not lie in "
            "/etc/kubernetes/pki, its owner has to issue them"
        )


def restart(host: Host, program: str) -> None:
    """Let kubelet start a program anew: in its container's place comes another one.

    Its manifest stays where it is, so that nothing is missing whenever the connection breaks.
    """
    host.sudo("python3", "-c", _PROGRAM, program)


def wait_until_settled(host: Host, program: str) -> None:
    """Wait until a program runs, and uses what is on the disk."""

    def settled() -> None:
        state = read(host)
        if program not in state.settled:
            raise NotYet("it does not run, or shows no certificate")
        if program in state.outdated:
            raise NotYet(f"it has older editions of: {', '.join(state.outdated[program])}")

    host.clock.until(settled, _RESTART_LIMIT, f"{program} with the certificates on the disk")


def _state(certificates: Mapping[str, str], programs: Mapping[str, Any]) -> ControlPlaneState:
    found = {name: certificates[name] for name in _KNOWN if name in certificates}
    running = {name: programs[name] for name in PROGRAMS if name in programs}
    outdated = {
        name: [word for word in RENEWED if word in program["outdated"]]
        for name, program in running.items()
    }
    return ControlPlaneState(
        certificates={name: _certificate(name, pem) for name, pem in found.items()},
        outdated={name: names for name, names in outdated.items() if names},
        settled=frozenset(name for name, program in running.items() if program["answers"]),
    )


def _certificate(name: str, pem: str) -> Certificate:
    try:
        found = x509.load_pem_x509_certificate(pem.encode())
        fingerprint = found.fingerprint(hashes.SHA256())
        end = getattr(found, "not_valid_after_utc", None)  # from 42 on
        end = end or found.not_valid_after.replace(tzinfo=timezone.utc)
    except ValueError as error:
        raise MgmtDriverError(
            f"{name} on the machine is no certificate ({error}): heal the VNFC"
        ) from error
    return Certificate(name, fingerprint, end.timestamp())
