"""Accounts of the cluster for programs outside of its pods."""

import base64
from dataclasses import dataclass

from mgmt_drivers.errors import MgmtDriverError, WaitTimeout
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.secret import Secret

_NAMESPACE = "kube-system"
_LIMIT = 60.0  # seconds


@dataclass(frozen=True)
class ServiceAccount:
    """One with the rights of a ClusterRole; ``role_manifest`` makes that, where it is ours."""

    name: str
    role: str
    role_manifest: str = ""

    def manifest(self) -> str:
        # The token is asked for as a Secret: since 1.24 none is made by itself
        # (Kubernetes' documentation, "Managing Service Accounts").
        return f"""\
{self.role_manifest}---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {self.name}
  namespace: {_NAMESPACE}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: {self.name}
  namespace: {_NAMESPACE}
  annotations:
    kubernetes.io/service-account.name: {self.name}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {self.name}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {self.role}
subjects:
- kind: ServiceAccount
  name: {self.name}
  namespace: {_NAMESPACE}
"""


VIM_ACCOUNT = ServiceAccount("tacker-vim", role="cluster-admin")


@dataclass(frozen=True)
class Credentials:
    """A bearer token, and the CA (PEM) of the cluster that takes it."""

    token: Secret
    ca: str


def find(host: Host, account: ServiceAccount) -> Credentials | None:
    """The account's credentials; None where Kubernetes has not issued them yet."""
    words = ("secret", account.name, "--namespace", _NAMESPACE, "--ignore-not-found")
    data = kubectl.get(host, *words).get("data", {})
    if "token" not in data or "ca.crt" not in data:
        return None
    return Credentials(Secret(_decoded(data["token"])), _decoded(data["ca.crt"]))


def read(host: Host, account: ServiceAccount) -> Credentials:
    """The credentials of an account that was created before.

    :raises MgmtDriverError: when there are none
    """
    found = find(host, account)
    if found is None:
        raise MgmtDriverError(f"service account {_NAMESPACE}/{account.name} has no token any more")
    return found


def create(host: Host, account: ServiceAccount) -> Credentials:
    """Create the account on a control-plane node, and wait for its credentials."""
    kubectl.apply(host, account.manifest())
    for _ in host.clock.attempts(_LIMIT):
        found = find(host, account)
        if found:
            return found
    raise WaitTimeout(
        f"service account {_NAMESPACE}/{account.name} has no token within {_LIMIT:g} s"
    )


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()
