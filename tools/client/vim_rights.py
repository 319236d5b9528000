"""Rights of the account with which Tacker uses a cluster, and with which scenarios look at it."""

import json
import shlex

from tools.client import wait
from tools.client.machines import KUBECTL, Remote

_ACCOUNT = "system:serviceaccount:kube-system:tacker-vim"
_VERBS = ["get", "list", "watch", "patch"]
_ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {
        "name": "scenarios",
        "labels": {"tacker-mgmt-drivers/aggregate-to-vim": "true"},
    },
    "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["deletecollection"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": _VERBS},
    ],
}


def may(master: Remote, verb: str, resource: str) -> bool:
    """Ask a control-plane node whether the account has a right."""
    words = f"auth can-i {verb} {resource} --as {_ACCOUNT}"
    return master.run(f"{KUBECTL} {words}", check=False).strip() == "yes"


def bind_to_all(master: Remote) -> None:
    """Give the account the binding to cluster-admin that earlier drivers gave each cluster."""
    words = "create clusterrolebinding tacker-vim --clusterrole cluster-admin"
    master.run(f"{KUBECTL} {words} --serviceaccount kube-system:tacker-vim")
    wait.until(lambda: may(master, "delete", "nodes"), bool, 60, "all rights")


def extend(master: Remote) -> None:
    """Give the account what scenarios need beyond CNFs, as an administrator adds rights."""
    master.run(f"echo {shlex.quote(json.dumps(_ROLE))} | {KUBECTL} apply --filename -")
    wait.until(lambda: may(master, "patch", "nodes"), bool, 60, "the rights of scenarios")
