"""Checks of what hardening promises, on the machines of a cluster and through its API."""

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping

from functional import kubernetes
from functional.kubernetes import KUBECTL, Cluster
from tools.client.errors import ClientError
from tools.client.log import log, step
from tools.client.machines import Remote

_CA = "/etc/kubernetes/pki/ca.crt"
_ENCRYPTION = "/etc/kubernetes/pki/encryption.yaml"
_SECRET = "/registry/secrets/kube-system/tacker-vim"  # noqa: S105 - its path in etcd
# The apiserver of the machine itself, not the one behind the virtual IP.
_KUBECTL_HERE = f"{KUBECTL} --server https://127.0.0.1:6443 --tls-server-name kubernetes"
_AUDIT_LOG = "/var/log/kubernetes/audit/audit.log"
# Pods that every node has, each with the address of its node.
_PROXIES = (
    "get pods --namespace kube-system --selector k8s-app=kube-proxy --output "
    """'jsonpath={range .items[*]}{.metadata.name} {.status.hostIP}{"\\n"}{end}'"""
)
_PRIVILEGED = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "privileged"},
    "spec": {
        "containers": [
            {"name": "any", "image": "any", "securityContext": {"privileged": True}},
        ]
    },
}


def check(masters: Mapping[str, Remote], others: Iterable[Remote], is_cis: bool) -> None:
    """Check the settings of a cluster.

    :param masters: control-plane nodes by name
    :param is_cis: whether the cluster has ``hardening: cis``
    :raises AssertionError: if something is not as the guide says
    """
    with step("check the hardening"):
        for name, master in masters.items():
            _check_master(name, master)
        machines = [*masters.values(), *others]
        for machine in machines:
            machine.run("systemctl is-active tacker-drop-metadata.service")
            mode = machine.run("sudo stat -c %a /etc/kubernetes/kubelet.conf").strip()
            assert mode == "600", f"kubelet.conf on {machine.address} has mode {mode}"
        _check_kubelets(next(iter(masters.values())), len(machines))
        _check_pods(next(iter(masters.values())), is_cis)


def _check_master(name: str, master: Remote) -> None:
    kept = kubernetes.read_etcd(master, name, _SECRET)
    assert kept.startswith("k8s:enc:secretbox:v1:"), f"{_SECRET} begins with {kept[:12]!r}"
    line = json.loads(master.run(f"sudo tail -n 2 {_AUDIT_LOG} | head -n 1"))
    assert line["kind"] == "Event", line
    assert "requestObject" not in line, line
    assert master.run("sudo ls /etc/kubernetes/super-admin.conf; true") == ""
    seen = {path: _ask(f"https://{master.address}:6443{path}") for path in ("/livez", "/version")}
    log(f"{name}: Secrets are encrypted, the audit log grows; without credentials: {seen}")
    assert seen == {"/livez": 200, "/version": 401}, seen


def check_keys(cluster: Cluster, masters: Iterable[Remote], name: str) -> None:
    """Check that all Secrets are encrypted by a key, that apiservers read them, and know no other.

    :param name: of the key
    """
    for master in masters:
        node = cluster.node_name_at(master.address)
        kept = kubernetes.list_etcd(master, node, "/registry/secrets/")
        words = f"sudo grep --only-matching --extended-regexp 'key[0-9]+' {_ENCRYPTION}"
        known = master.run(words).split()
        log(f"{node}: {len(kept)} Secrets, keys {known}")
        begin = f"k8s:enc:secretbox:v1:{name}:"
        others = [key for key, text in kept.items() if not text.startswith(begin)]
        assert kept and not others and known == [name], (others, known)
        master.run(f"{_KUBECTL_HERE} get secrets --all-namespaces --output json >/dev/null")


def _check_kubelets(master: Remote, number: int) -> None:
    """Each kubelet has a certificate of the cluster for its address; apiservers verify it."""
    manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
    master.run(f"sudo grep -e --kubelet-certificate-authority={_CA} {manifest}")
    proxies = [line.split() for line in master.run(f"{KUBECTL} {_PROXIES}").splitlines()]
    assert len(proxies) == number, proxies
    for pod, address in proxies:
        asked = f"sudo openssl s_client -connect {address}:10250 -CAfile {_CA} -verify_ip {address}"
        shown = master.run(f"{asked} </dev/null 2>&1 | grep 'Verify return code'")
        assert "code: 0 (ok)" in shown, f"kubelet at {address}: {shown}"
        master.run(f"{KUBECTL} logs --namespace kube-system {pod} --tail=1")


def _ask(url: str) -> int:
    """The status of an answer to somebody without credentials."""
    context = ssl._create_unverified_context()  # noqa: S323 - the certificate does not matter
    try:
        with urllib.request.urlopen(url, timeout=10, context=context) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def _check_pods(master: Remote, is_cis: bool) -> None:
    """A privileged pod is refused by Pod Security alone."""
    words = f"echo '{json.dumps(_PRIVILEGED)}' | {KUBECTL} create --dry-run=server --filename -"
    try:
        master.run(words)
        refusal = ""
    except ClientError as error:
        refusal = str(error)
    log(f"a privileged pod: {refusal or 'taken'}")
    assert is_cis == ('violates PodSecurity "baseline' in refusal), refusal
