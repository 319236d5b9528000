"""Accounts of the cluster for programs outside of its pods."""

import base64
from dataclasses import dataclass

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh import wait

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


def ensure(host: Host, account: ServiceAccount) -> tuple[Secret, str]:
    """Make the account on a master; returns its bearer token and the cluster's CA (PEM)."""
    kubectl.apply(host, account.manifest())

    def issued() -> tuple[Secret, str]:
        secret = kubectl.get(host, "secret", account.name, "--namespace", _NAMESPACE)
        data = secret.get("data", {})
        if "token" not in data or "ca.crt" not in data:
            raise wait.NotYet("the secret has no token yet")
        return Secret(_decoded(data["token"])), _decoded(data["ca.crt"])

    what = f"the token of service account {_NAMESPACE}/{account.name}"
    return wait.until(issued, _LIMIT, what)


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()
