"""kubelet's serving certificate, by which apiservers know the kubelet that they ask.

The leader signs the certificate with the cluster's CA before kubelet starts, for the name and the
address that Tacker knows of the machine. So nobody has to approve what a node asks for, and kubelet
always has a certificate. A kubelet that finds none signs one itself (Kubernetes' documentation,
``--tls-cert-file``), which only apiservers of clusters of earlier drivers accept.
"""

import logging
import re
from collections.abc import Collection, Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.errors import CertificateError
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import LIST_OUTPUT

LOG = logging.getLogger(__name__)

PKI = "/var/lib/kubelet/pki"
CERTIFICATE = f"{PKI}/kubelet.crt"  # kubelet's default
_DAY = 86400.0  # seconds
_SCRIPT = Script(__package__, "kubelet-serving")
_BLOCK = "-----BEGIN {0}-----\n[A-Za-z0-9+/=\n]+-----END {0}-----\n"
_END = "---\n"
_ISSUED = re.compile(f"({_BLOCK.format('PRIVATE KEY')}{_BLOCK.format('CERTIFICATE')}){_END}")


def issuing(cluster: Cluster, nodes: Sequence[Host]) -> Sequence[str]:
    """The command on a control-plane node that issues certificates for nodes."""
    words = [word for node in nodes for word in (cluster.name(node), cluster.address(node))]
    return _SCRIPT.command("issue", *words)


def read_issued(
    host: Host, text: str, cluster: Cluster, nodes: Sequence[Host]
) -> dict[str, Secret]:
    """Read what the command has printed: a certificate with its key for each node, by its name."""
    issued = _ISSUED.findall(text)
    secrets = [Secret(pem) for pem in issued]
    host.session.hide(*secrets)
    if len(issued) != len(nodes) or "".join(pem + _END for pem in issued) != text:
        raise CertificateError("the machine does not print the serving certificates of kubelets")
    for node, secret in zip(nodes, secrets, strict=True):
        node.session.hide(secret)
    return dict(zip(map(cluster.name, nodes), secrets, strict=True))


def installing(*words: str) -> Sequence[str]:
    """The command that gives kubelet the certificate on its standard input, and runs words.

    The words read what follows a line of three dashes.
    """
    return _SCRIPT.command("install", PKI, *words)


def beginning(host: Host, cluster: Cluster) -> Sequence[str]:
    """The beginning of a command that makes a cluster, whose first kubelet has a certificate."""
    return _SCRIPT.command("begin", PKI, cluster.name(host), cluster.address(host))


def list_ending(leader: Host, addresses: Collection[str], days: float) -> list[str]:
    """Ask kubelets for their certificates; list the addresses of those to renew.

    :param days: certificates of the cluster's CA that end within this time are renewed
    """
    words = _SCRIPT.command("list", str(round(days * _DAY)), *addresses)
    seen = leader.ask(*words, limit=LIST_OUTPUT)
    if not seen.ok:
        LOG.warning("serving certificates of kubelets are not checked: %s", seen.tail)
    shown = seen.stdout.split()
    return [address for address in addresses if address in shown]
