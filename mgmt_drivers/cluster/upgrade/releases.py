"""Releases in the dry run of an upgrade, before any machine has the new kubeadm."""

from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.engine.phase import DEPENDS, Prediction
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED


def predict_release(release: str, cluster: Cluster) -> Prediction:
    """The prediction for something that has a release."""
    wanted = cluster.params.version
    is_wanted = wanted.is_release(release)
    if is_wanted is None:
        return Prediction(DEPENDS, f"on whether the packages have a newer {wanted} than {release}")
    return Prediction(UNCHANGED) if is_wanted else Prediction(CHANGED, f"{release} to {wanted}")
