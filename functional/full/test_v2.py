"""The same stories through Tacker's v2 API (ETSI SOL003 3.3.1)."""

import hashlib
from typing import Any

from functional import (
    test_kubernetes_affinity,
    test_kubernetes_nodes,
    test_private_registry,
)
from functional.api import V2
from functional.full import test_kubernetes_storage_pods
from functional.nodes import Remote
from functional.packages import registry_image
from functional.report import step


class NodesThroughV2(test_kubernetes_nodes.NodesComeAndGo):
    api = V2()


class StorageThroughV2(test_kubernetes_storage_pods.PodsWithStorage):
    api = V2()


class AffinityThroughV2(test_kubernetes_affinity.HardwareAwareAffinity):
    api = V2()


class RegistryThroughV2(test_private_registry.RegistryLife):
    """The image comes from a web server: it is to stay out of the package."""

    api = V2()

    def image_source(self, server: Remote) -> dict[str, Any]:
        image = registry_image()
        with step(f"serve the registry's image on {server.address}"):
            server.put(image, "image.tar")
            server.run(
                "sudo systemd-run --quiet --unit=images --working-directory=/home/$USER "
                "python3 -m http.server 8000"
            )
        return {
            "image_path": None,
            "image_url": f"http://{server.address}:8000/image.tar",
            "image_sha256": hashlib.sha256(image.read_bytes()).hexdigest(),
        }
