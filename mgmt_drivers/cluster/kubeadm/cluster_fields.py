"""The fields of kubeadm's ClusterConfiguration that requests may set, under kubeadm's names.

Nothing else brings these about, while patches change flags, volumes and environment of the control
plane's programs. kubeadm keeps the fields in the cluster, where its joins, upgrades and renewals of
certificates read them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mgmt_drivers.params.declaration import ObjectOf, param
from mgmt_drivers.params.kinds import Choice, Duration
from mgmt_drivers.params.reader import Reader

NAME = "cluster_configuration"
_ALGORITHMS = ("RSA-2048", "RSA-3072", "RSA-4096", "ECDSA-P256")
# Fields of ClusterConfiguration (kubeadm.k8s.io/v1beta4) that others set, by who does.
_OWNERS: Mapping[str, str] = {
    "kubeadm_patches": "apiServer controllerManager etcd scheduler",
    "the drivers": "apiVersion certificatesDir clusterName controlPlaneEndpoint dns featureGates "
    "kind proxy",
    "image_repository": "imageRepository",
    "kubernetes_version": "kubernetesVersion",
    "master_node.pod_cidr and cluster_cidr": "networking",
}
_OWNER = {field: owner for owner, fields in _OWNERS.items() for field in fields.split()}


@dataclass(frozen=True)
class ClusterFields:
    """Fields of ClusterConfiguration; the periods in seconds."""

    validity: int | None = param(
        "certificateValidityPeriod", Duration("180d", "3650d"), example="200d",
        meaning="validity of the certificates that kubeadm issues and renews, from ``180d`` on: "
        "operations renew what expires within 90 days",
        left_out="a year",
    )
    authority_validity: int | None = param(
        "caCertificateValidityPeriod", Duration("730d", "9999d"), example="7300d",
        meaning="validity of the CAs, from ``730d`` on: nothing renews a CA", left_out="ten years",
    )
    algorithm: str | None = param(
        "encryptionAlgorithm", Choice(*_ALGORITHMS), example="ECDSA-P256",
        meaning="algorithm of the keys that kubeadm makes", left_out="``RSA-2048``",
    )

    def shown(self) -> dict[str, str]:
        """The fields as kubeadm reads them; those that are left out are kubeadm's own."""
        periods = {
            "certificateValidityPeriod": self.validity,
            "caCertificateValidityPeriod": self.authority_validity,
        }
        algorithm = {"encryptionAlgorithm": self.algorithm} if self.algorithm else {}
        return {key: f"{value // 3600}h0m0s" for key, value in periods.items() if value} | algorithm


class _ClusterFieldsKind(ObjectOf[ClusterFields]):
    def _refuse_unknown(self, reader: Reader) -> None:
        for field in reader.value.keys() & _OWNER:
            reader.at(field).refuse(f"is set by {_OWNER[field]}")
        free = {key: value for key, value in reader.value.items() if key not in _OWNER}
        super()._refuse_unknown(Reader(free, reader.path, reader.errors, reader.context))


CLUSTER_FIELDS: ObjectOf[Any] = _ClusterFieldsKind(ClusterFields)
