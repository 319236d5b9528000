"""The same stories through Tacker's v2 API (ETSI SOL003 3.3.1)."""

from functional import (
    test_kubernetes_affinity,
    test_kubernetes_nodes,
    test_private_registry,
)
from functional.api import V2
from functional.full import test_kubernetes_storage_pods


class NodesThroughV2(test_kubernetes_nodes.NodesComeAndGo):
    api = V2()


class StorageThroughV2(test_kubernetes_storage_pods.PodsWithStorage):
    api = V2()


class AffinityThroughV2(test_kubernetes_affinity.HardwareAwareAffinity):
    api = V2()


class RegistryThroughV2(test_private_registry.RegistryLife):
    api = V2()
