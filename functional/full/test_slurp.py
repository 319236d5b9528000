"""The gate's stories through the v1 API, on a release that operators run for long: 2026.1.

Which cloud it is nobody here knows: see tools/scenarios.
"""

from functional import test_cluster
from functional.full import test_registry
from tools.client.api import V1


class RegistryOnSlurp(test_registry.RegistryThroughV1):
    """The image is in the package."""


class ClusterOnSlurp(test_cluster.LifeOfACluster):
    """With a storage server, and images of an HTTP and an HTTPS registry."""

    api = V1()
