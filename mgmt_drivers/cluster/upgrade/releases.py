"""Releases in the dry run of an upgrade, before any machine has the new kubeadm."""

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.engine.phase import DEPENDS, Forecast
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED


def forecast(release: str, cluster: Cluster) -> Forecast:
    """The forecast for something that has a release."""
    wanted = cluster.params.version
    is_wanted = wanted.is_release(release)
    if is_wanted is None:
        return Forecast(DEPENDS, f"on whether the packages have a newer {wanted} than {release}")
    return Forecast(UNCHANGED) if is_wanted else Forecast(CHANGED, f"{release} to {wanted}")
