"""The parameters that modifications have changed: a JSON Merge Patch (RFC 7396) of the request.

The VNF instance has the patch. An upgrade saves the parameters that it wants before the cluster
changes, and keeps them when the cluster has changed: in between, and after an upgrade of which
Tacker's v2 API has saved nothing, the cluster tells which of them are true. The cluster tells a
release and nothing else, since a tenant may write what a cluster tells: where packages and images
come from is known to the request and Tacker.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mgmt_drivers.cluster.cluster_params import LOGIN_GROUPS, NAME, KubernetesParams
from mgmt_drivers.cluster.series import Version, read_version, skew
from mgmt_drivers.engine.services import Store
from mgmt_drivers.errors import ClusterError
from mgmt_drivers.params.declaration import read_parameter
from mgmt_drivers.request import LcmRequest

# In the store.
_KEY, _WANTED, _LOGINS = "changed_params", "wanted_params", "wanted_logins"
_VERSION = "kubernetes_version"

Changed = Mapping[str, Any]  # the patch of the instantiate request's object


def load(store: Store) -> Changed:
    return store.load(_KEY, {})


def save(store: Store, changed: Changed) -> None:
    """Keep the parameters that the cluster has; no others are wanted any more."""
    store.save_secret(_KEY, changed)
    store.save_secret(_WANTED, {})


def save_wanted(store: Store, params: Changed) -> None:
    store.save_secret(_WANTED, params)


def names_logins(patch: Changed) -> bool:
    """Whether a patch names logins of machines, and not labels or taints alone."""
    groups = [patch.get(key) or () for key in LOGIN_GROUPS]
    each = [one for group in groups for one in ([group] if isinstance(group, Mapping) else group)]
    return any(not {"password", "private_key"}.isdisjoint(one) for one in each)


def save_wanted_logins(store: Store, changed: Changed) -> None:
    """Save the logins that machines are about to get: a heal may have to log in by them."""
    logins = {key: changed[key] for key in LOGIN_GROUPS if key in changed}
    known = [each for each in load_wanted_logins(store) if each != logins]
    # sshd takes four logins at a time where the CIS benchmark is followed (MaxAuthTries).
    store.save_secret(_LOGINS, [logins, *known][:2])


def load_wanted_logins(store: Store) -> list[Changed]:
    """Load the logins that changes which failed may have left on machines."""
    return store.load(_LOGINS, [])


def forget_wanted_logins(store: Store) -> None:
    """Forget the logins of changes that failed: all machines have one login."""
    if load_wanted_logins(store):
        store.save_secret(_LOGINS, [])


def choose_for_release(
    request: LcmRequest, store: Store, release: str, patch: Changed | None
) -> Changed:
    """Find the changed parameters of a cluster that has a release.

    :param release: as the cluster tells it, such as v1.33.2
    :param patch: the patch of an upgrade that goes on
    :raises MgmtDriverError: if the release is neither known nor within an upgrade's reach
    """
    kept = load(store)
    wanted = store.load(_WANTED, {}) or kept
    own, found = version_of(request, kept), read_version(release)
    fits = {True: 2, None: 1, False: 0}  # a series fits less than a release
    changed = max((kept, wanted), key=lambda c: fits[version_of(request, c).is_release(release)])
    version = version_of(request, changed)
    if version.is_release(release) or (changed is kept and version.is_release(release) is None):
        return changed
    reason = skew(own, found) if found else "the series is not supported"
    for aim in (wanted, join(request, store, patch or {})):
        last = version_of(request, aim).series.minor
        if found and own.series.minor < found.series.minor <= last:  # on the way of an upgrade
            changed, reason = aim, ""
    if found is None or reason:
        raise ClusterError(
            f"the cluster tells that it has {release}, and Tacker knows {own}: {reason}. "
            "If an upgrade has failed, end this operation with fail, and send its request with the "
            "upgrade's k8s_cluster_modification_param in additionalParams (v2 API), or finish the "
            "upgrade first. If nobody has upgraded the cluster, somebody has changed the ConfigMap "
            "kubeadm-config in kube-system: correct its kubernetesVersion, then retry"
        )
    # Later machines of a cluster with a release get a release, also if an upgrade named a series.
    return {**changed, _VERSION: found.series.name if own.patch is None else found.text}


def choose_for_backup(own: Version, store: Store, release: str) -> Changed:
    """Find the changed parameters of a cluster that is restored from a backup of a release.

    :param own: the version without the backup: of the backup's series, or of a series beside it
    """
    kept, wanted, found = load(store), store.load(_WANTED, {}), read_version(release)
    if found is None or found.series == own.series:
        return kept
    aim = read_version(str(wanted.get(_VERSION, "")))
    if aim and aim.series == found.series:
        kept = wanted
    return {**kept, _VERSION: found.series.name if own.patch is None else found.text}


def version_of(request: LcmRequest, changed: Changed) -> Version:
    """The version in parameters that were checked, of which no other is read again."""
    values = apply(request, changed).additional_params
    version: Version = read_parameter(KubernetesParams, "version", values, NAME)
    return version


def apply(request: LcmRequest, changed: Changed) -> LcmRequest:
    own = request.additional_params.get(NAME)
    if not changed or not isinstance(own, Mapping):
        return request
    params = {**request.additional_params, NAME: merge(own, changed)}
    return replace(request, additional_params=params)


def join(request: LcmRequest, store: Store, patch: Changed) -> Changed:
    """The changed parameters that the VNF instance has, with one more modification.

    Merged with each other, patches would bring values of an object back that one has removed.
    """
    after = apply(apply(request, load(store)), patch)
    return difference(request.additional_params[NAME], after.additional_params[NAME])


def merge(value: Any, patch: Any) -> Any:
    """Apply a patch: objects are merged, null removes a value, anything else replaces a value."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(value) if isinstance(value, Mapping) else {}
    merged |= {key: merge(merged.get(key), change) for key, change in patch.items()}
    return {key: item for key, item in merged.items() if item is not None}


def difference(before: Any, after: Any) -> Any:
    """Return the patch that makes one value of another; null counts as left out."""
    if not (isinstance(before, Mapping) and isinstance(after, Mapping)):
        return after
    differing = [key for key in {**before, **after} if before.get(key) != after.get(key)]
    return {key: difference(before.get(key), after.get(key)) for key in differing}
