"""The parameters of the instantiate request that an upgrade has replaced.

They are kept twice. The VNF instance has them for a heal of the whole VNF; but Tacker's v2 API
saves nothing of an operation that fails, and an upgrade that fails half-way has changed the
version that machines are to join with. So the cluster has them too, and has the last word.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mgmt_drivers.cluster.cluster_params import NAME
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.cluster.upgrade.modification import REPLACED
from mgmt_drivers.engine.services import Store
from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine.host import Host
from mgmt_drivers.request import LcmRequest

_KEY = "changed_params"  # in the store, and in the ConfigMap's data
_NAMESPACE, _CONFIG_MAP = "kube-system", "tacker-mgmt-drivers"

Changed = Mapping[str, Any]  # as they stand in a request


def load(store: Store) -> Changed:
    """Load the changed parameters that the VNF instance has."""
    found: Changed = store.load(_KEY, {})
    return found


def of_cluster(host: Host) -> Changed | None:
    """Ask the cluster for its changed parameters; None if it was never upgraded."""
    words = ("configmap", _CONFIG_MAP, "--namespace", _NAMESPACE, "--ignore-not-found")
    found = kubectl.get(host, *words)
    if not found:
        return None
    try:
        changed = json.loads(found["data"][_KEY])
    except (KeyError, TypeError, ValueError):
        changed = None
    # Nobody but an upgrade writes it; whoever else does sets nothing that an upgrade could not.
    if not isinstance(changed, dict) or not changed.keys() <= {*REPLACED}:
        raise MgmtDriverError(
            f"the cluster's ConfigMap {_CONFIG_MAP} in {_NAMESPACE} does not tell its version as "
            "the driver has written it: delete it, and upgrade the cluster to its own version"
        )
    return changed


def are_kept(host: Host, store: Store, changed: Changed) -> bool:
    return load(store) == changed and of_cluster(host) == changed


def keep(host: Host, store: Store, changed: Changed) -> None:
    """Keep them in the cluster and with the VNF instance."""
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": _CONFIG_MAP, "namespace": _NAMESPACE},
        "data": {_KEY: json.dumps(changed)},
    }
    kubectl.apply(host, json.dumps(manifest))
    save(store, changed)


def save(store: Store, changed: Changed) -> None:
    store.save(_KEY, changed)


def applied(request: LcmRequest, changed: Changed) -> LcmRequest:
    """The request with these parameters in the place of its own."""
    own = request.additional_params.get(NAME)
    if not changed or not isinstance(own, Mapping):
        return request
    return replace(
        request, additional_params={**request.additional_params, NAME: {**own, **changed}}
    )
