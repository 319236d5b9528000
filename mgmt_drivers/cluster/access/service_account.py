"""The service account with which Tacker uses the cluster as a VIM."""

import base64
import secrets
from dataclasses import dataclass
from importlib import resources
from typing import Any

from mgmt_drivers.cluster.cluster_params import CLUSTER_ADMIN
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.engine.services import Store
from mgmt_drivers.errors import WaitTimeout
from mgmt_drivers.machine.host import Host
from mgmt_drivers.secret import Secret

VIM_ACCOUNT = "tacker-vim"  # and the first Secret with a token of it
_NAMESPACE = "kube-system"
_SECRETS = "vim_secrets"  # in the store: names of the Secrets with tokens, the current one last
_LIMIT = 60.0  # seconds
# Read when the module is imported, like scripts.
_ROLES = (resources.files(__package__ or "") / "vim-roles.yaml").read_text()
# The binding to cluster-admin, which earlier drivers gave each cluster.
_ALL_RIGHTS = f"""\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {VIM_ACCOUNT}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {CLUSTER_ADMIN}}}
subjects: [{{kind: ServiceAccount, name: {VIM_ACCOUNT}, namespace: {_NAMESPACE}}}]
"""


def _manifest(secret: str) -> str:
    # The Secret requests a token: since 1.24 Kubernetes creates no token by itself
    # (Kubernetes' documentation, "Managing Service Accounts").
    return f"""\
apiVersion: v1
kind: ServiceAccount
metadata: {{name: {VIM_ACCOUNT}, namespace: {_NAMESPACE}}}
---
apiVersion: v1
kind: Secret
type: kubernetes.io/service-account-token
metadata:
  name: {secret}
  namespace: {_NAMESPACE}
  annotations: {{kubernetes.io/service-account.name: {VIM_ACCOUNT}}}
---
{_ROLES}"""


def _secrets_of(store: Store) -> list[str]:
    return store.load(_SECRETS, [VIM_ACCOUNT])


def current_secret(store: Store) -> str:
    """The name of the Secret with the token that Tacker uses."""
    return _secrets_of(store)[-1]


def add_vim_token(host: Host, store: Store, role: str | None) -> None:
    """Make one more token, the current one from now on; a former name would have its old token."""
    new, known = f"{VIM_ACCOUNT}-{secrets.token_hex(8)}", _secrets_of(store)
    store.save(_SECRETS, [new, *known])  # revoked later if this attempt ends here
    apply(host, new, role)
    store.save(_SECRETS, [*known, new])


def revoke_old_vim_tokens(host: Host, store: Store) -> None:
    """Revoke all tokens of the VIM's account but the current one, by deleting their Secrets."""
    *old, current = _secrets_of(store)
    kubectl.delete(host, "secret", *old, namespace=_NAMESPACE)
    store.save(_SECRETS, [current])


@dataclass(frozen=True)
class Credentials:
    """A bearer token for a cluster, and the cluster's CA (PEM)."""

    token: Secret
    ca: str


def apply(host: Host, secret: str, role: str | None) -> bool:
    """Create the account with its rights; returns whether anything changed.

    :param secret: the name of the Secret that has its token
    :param role: ``CLUSTER_ADMIN``, or None for the rights that CNFs need
    """
    if role == CLUSTER_ADMIN:
        return kubectl.apply(host, _manifest(secret) + _ALL_RIGHTS)
    changed = kubectl.apply(host, _manifest(secret))
    return kubectl.delete(host, "clusterrolebinding", VIM_ACCOUNT) or changed


def revoke(host: Host, secret: str) -> None:
    """Delete the account, whose tokens others may know; waits until Kubernetes has deleted them.

    An account of the same name has other tokens then.
    """
    kubectl.delete(host, "serviceaccount", VIM_ACCOUNT, namespace=_NAMESPACE)
    for _ in host.clock.attempts(_LIMIT):
        if not _read_secret(host, secret):
            return
    raise WaitTimeout(
        f"the token of service account {_NAMESPACE}/{VIM_ACCOUNT} was not deleted within "
        f"{_LIMIT:g} s. Look at the controller manager, then retry the operation"
    )


def read_vim(host: Host, store: Store) -> Credentials:
    """Read the credentials of the VIM's account; waits until Kubernetes has issued them."""
    secret = current_secret(store)
    for _ in host.clock.attempts(_LIMIT):
        data = _read_secret(host, secret).get("data", {})
        if "token" in data and "ca.crt" in data:
            token = Secret(_decoded(data["token"]))
            host.session.hide(token, Secret(data["token"]))
            return Credentials(token, _decoded(data["ca.crt"]))
    raise WaitTimeout(
        f"service account {_NAMESPACE}/{VIM_ACCOUNT} got no token within {_LIMIT:g} s. Look at "
        "the controller manager, then retry the operation"
    )


def _read_secret(host: Host, secret: str) -> dict[str, Any]:
    """Read a Secret with a token; empty if there is none."""
    words = ("secret", secret, "--namespace", _NAMESPACE, "--ignore-not-found")
    return kubectl.get(host, *words)


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode()
