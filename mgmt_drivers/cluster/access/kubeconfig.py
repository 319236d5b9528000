"""A kubeconfig (Kubernetes' documentation, "kubeconfig (v1)") with the token of one user."""

import base64
from typing import Any

from mgmt_drivers.secret import Secret


def by_token(endpoint: str, ca: str, token: Secret, user: str, cluster: str) -> dict[str, Any]:
    """The kubeconfig of a user.

    :param endpoint: address and port of the cluster's API
    :param ca: the cluster's CA (PEM)
    :param user: name of the user and of the context
    :param cluster: name of the cluster
    """
    authority = base64.b64encode(ca.encode()).decode()
    server = {"server": f"https://{endpoint}", "certificate-authority-data": authority}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": cluster, "cluster": server}],
        "users": [{"name": user, "user": {"token": token.reveal()}}],
        "contexts": [{"name": user, "context": {"cluster": cluster, "user": user}}],
        "current-context": user,
    }
