"""kubelet on a node: its start, and its certificates.

A kubelet whose client certificate has expired does not start: it would need a bootstrap kubeconfig,
which kubeadm removes after a join.
"""

from collections.abc import Sequence

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.kubeadm import kubeadm, kubeadm_config, kubelet_serving
from mgmt_drivers.cluster.kubeadm.kubelet_serving import PKI
from mgmt_drivers.errors import CertificateError, CommandFailed
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.secret import Secret

REACH = Script(__package__, "reach-port")
_CONF = "/etc/kubernetes/kubelet.conf"
_ISSUE = Script(__package__, "issue-kubelet-certificate")
_INSTALL = Script(__package__, "install-kubelet-certificate")
_LEAD = Script(__package__, "lead-kubelet")
_APISERVER = "/etc/kubernetes/manifests/kube-apiserver.yaml"
_HEALTH = ("127.0.0.1", "10248")  # kubelet's healthzPort, which is opened last
_START_LIMIT = 120.0  # seconds
_ANSWER_LIMIT = 20.0  # seconds for a machine that may be ill


def restart(host: Host) -> None:
    host.sudo("systemctl", "restart", "kubelet")
    wait_until_it_runs(host)


def lead_to_load_balancer(host: Host, cluster: Cluster, release: str) -> None:
    """Let kubelet of a control-plane node ask all apiservers, until kubeadm has upgraded the node.

    kubelet asks its own apiserver. While etcd of the node is down, that one does not answer, and
    kubelet starts a changed static pod only when the request to delete its mirror pod has timed
    out, after more than 30 seconds. ``kubeadm upgrade`` leads kubelet back to its own apiserver.
    """
    host.sudo(*_LEAD.command(_CONF, cluster.endpoint, _APISERVER, release))
    wait_until_it_runs(host)


def is_running(host: Host) -> bool:
    """Ask whether kubelet runs: it listens, since systemd calls a crashing kubelet active.

    :raises MgmtDriverError: if the machine does not answer within 20 seconds
    """
    return host.ask("timeout", "3", *REACH.command(*_HEALTH), timeout=_ANSWER_LIMIT).ok


def wait_until_it_runs(host: Host) -> None:
    """Wait until kubelet listens: systemd calls a kubelet active that ends immediately."""
    what = "kubelet's start (`journalctl -u kubelet` on the machine tells why it fails)"
    words = ("timeout", "3", *REACH.command(*_HEALTH))
    host.ask_until_ok(*words, within=_START_LIMIT, what=what)


def renew_certificate(host: Host, cluster: Cluster) -> None:
    """Give kubelet a new client certificate from the leader, and restart it, without the API."""
    leader = cluster.leader
    config = kubeadm_config.for_certificate(host, cluster, kubeadm.read_version(leader))
    issued = Secret(_issue(leader, "client", _ISSUE.command(), config))
    host.session.hide(issued)
    host.sudo(*_INSTALL.command(PKI, _CONF), stdin=Secret(f"{issued.reveal()}---\n"))
    wait_until_it_runs(host)


def renew_serving_certificate(host: Host, cluster: Cluster) -> None:
    """Give kubelet a new serving certificate from the leader, and restart it, without the API."""
    leader = cluster.leader
    shown = _issue(leader, "serving", kubelet_serving.issuing(cluster, [host]))
    (issued,) = kubelet_serving.read_issued(leader, shown, cluster, [host]).values()
    command = kubelet_serving.installing("systemctl", "restart", "kubelet")
    host.sudo(*command, stdin=Secret(f"{issued.reveal()}---\n"))
    wait_until_it_runs(host)


def _issue(leader: Host, kind: str, command: Sequence[str], config: Secret | None = None) -> str:
    try:
        return leader.sudo(*command, stdin=config)
    except CommandFailed as error:
        raise CertificateError(
            f"{leader.node} issues no {kind} certificate for kubelet: {error}. Where the key of "
            "the CA does not lie in /etc/kubernetes/pki, its owner has to issue it"
        ) from error
