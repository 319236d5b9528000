"""The account by which Tacker uses the cluster as a VIM."""

import base64

from mgmt_drivers.host.host import Host
from mgmt_drivers.kube import kubectl
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh import wait

_NAMESPACE = "kube-system"
_NAME = "tacker-vim"
_LIMIT = 60.0  # seconds

# The token is asked for as a Secret: since 1.24 none is made by itself
# (Kubernetes' documentation, "Managing Service Accounts").
_MANIFEST = f"""\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {_NAME}
  namespace: {_NAMESPACE}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: {_NAME}
  namespace: {_NAMESPACE}
  annotations:
    kubernetes.io/service-account.name: {_NAME}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {_NAME}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: cluster-admin
subjects:
- kind: ServiceAccount
  name: {_NAME}
  namespace: {_NAMESPACE}
"""


def ensure(host: Host) -> tuple[Secret, str]:
    """Make the account on a master; returns its bearer token and the cluster's CA (PEM)."""
    kubectl.apply(host, _MANIFEST)

    def issued() -> tuple[Secret, str]:
        data = kubectl.get(host, "secret", _NAME, "--namespace", _NAMESPACE).get("data", {})
        if "token" not in data or "ca.crt" not in data:
            raise wait.NotYet("the secret has no token yet")
        return Secret(_decoded(data["token"])), _decoded(data["ca.crt"])

    return wait.until(issued, _LIMIT, f"the token of service account {_NAMESPACE}/{_NAME}")


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()
