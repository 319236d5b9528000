"""Service accounts of the cluster for programs outside of the cluster."""

import base64
import secrets
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from mgmt_drivers.cluster.cluster_params import CLUSTER_ADMIN
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.engine.services import Store
from mgmt_drivers.errors import WaitTimeout
from mgmt_drivers.machine.host import Host
from mgmt_drivers.secret import Secret

_NAMESPACE = "kube-system"
_LIMIT = 60.0  # seconds
# Read when the module is imported, like scripts.
_ROLES = (resources.files(__package__ or "") / "vim-roles.yaml").read_text()


@dataclass(frozen=True)
class ServiceAccount:
    """A service account of Tacker; ``secret`` names its token's Secret."""

    name: str
    secret: str

    def manifest(self) -> str:
        # The Secret requests a token: since 1.24 Kubernetes creates no token by itself
        # (Kubernetes' documentation, "Managing Service Accounts").
        return f"""\
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {self.name}, namespace: {_NAMESPACE}}}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: {self.secret}
  namespace: {_NAMESPACE}
  annotations: {{kubernetes.io/service-account.name: {self.name}}}
"""

    def all_rights(self) -> str:
        """The binding to cluster-admin, which earlier drivers gave each cluster."""
        return f"""\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {self.name}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {CLUSTER_ADMIN}}}
subjects: [{{kind: ServiceAccount, name: {self.name}, namespace: {_NAMESPACE}}}]
"""


VIM_ACCOUNT = ServiceAccount("tacker-vim", secret="tacker-vim")  # noqa: S106
_SECRETS = "vim_secrets"  # in the store: names of the Secrets with tokens, the current one last


def vim_account(store: Store) -> ServiceAccount:
    """The account with which Tacker uses the cluster, with its current Secret."""
    return replace(VIM_ACCOUNT, secret=store.load(_SECRETS, [VIM_ACCOUNT.secret])[-1])


def add_vim_token(host: Host, store: Store, role: str | None) -> None:
    """Make one more token, the current one from now on; a former name would have its old token."""
    account = replace(VIM_ACCOUNT, secret=f"{VIM_ACCOUNT.name}-{secrets.token_hex(8)}")
    known = store.load(_SECRETS, [VIM_ACCOUNT.secret])
    store.save(_SECRETS, [account.secret, *known])  # revoked later if this attempt ends here
    apply(host, account, role)
    store.save(_SECRETS, [*known, account.secret])


def revoke_old_vim_tokens(host: Host, store: Store) -> None:
    """Revoke all tokens of the VIM's account but the current one, by deleting their Secrets."""
    *old, current = store.load(_SECRETS, [VIM_ACCOUNT.secret])
    kubectl.delete(host, "secret", *old, namespace=_NAMESPACE)
    store.save(_SECRETS, [current])


@dataclass(frozen=True)
class Credentials:
    """A bearer token for a cluster, and the cluster's CA (PEM)."""

    token: Secret
    ca: str


def apply(host: Host, account: ServiceAccount, role: str | None) -> bool:
    """Create the account with its rights; returns whether anything changed.

    :param role: ``CLUSTER_ADMIN``, or None for the rights that CNFs need
    """
    manifest = f"{account.manifest()}---\n{_ROLES}"
    if role == CLUSTER_ADMIN:
        return kubectl.apply(host, manifest + account.all_rights())
    changed = kubectl.apply(host, manifest)
    return kubectl.delete(host, "clusterrolebinding", account.name) or changed


def revoke(host: Host, account: ServiceAccount) -> None:
    """Delete an account whose tokens others may know; waits until Kubernetes has deleted them.

    An account of the same name has other tokens then.
    """
    kubectl.delete(host, "serviceaccount", account.name, namespace=_NAMESPACE)
    for _ in host.clock.attempts(_LIMIT):
        if not _read_secret(host, account):
            return
    raise WaitTimeout(
        f"the token of service account {_NAMESPACE}/{account.name} was not deleted within "
        f"{_LIMIT:g} s. Look at the controller manager, then retry the operation"
    )


def read_vim(host: Host, store: Store) -> Credentials:
    """Read the credentials of the VIM's account; waits until Kubernetes has issued them."""
    account = vim_account(store)
    for _ in host.clock.attempts(_LIMIT):
        data = _read_secret(host, account).get("data", {})
        if "token" in data and "ca.crt" in data:
            token = Secret(_decoded(data["token"]))
            host.session.hide(token, Secret(data["token"]))
            return Credentials(token, _decoded(data["ca.crt"]))
    raise WaitTimeout(
        f"service account {_NAMESPACE}/{account.name} got no token within {_LIMIT:g} s. Look at "
        "the controller manager, then retry the operation"
    )


def _read_secret(host: Host, account: ServiceAccount) -> dict[str, Any]:
    """Read the Secret with the token of an account; empty if there is none."""
    words = ("secret", account.secret, "--namespace", _NAMESPACE, "--ignore-not-found")
    return kubectl.get(host, *words)


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()
