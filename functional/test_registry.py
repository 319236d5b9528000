"""The story of one private registry VNF, through the v2 API."""

import hashlib
from typing import Any

from functional.registry_scenario import IMAGE_PORT, RegistryLife
from tools.client.api import V2
from tools.client.log import step
from tools.client.machines import Remote
from tools.client.packages import registry_image


class LifeOfARegistry(RegistryLife):
    """The image comes from a web server: packages for v2 do not contain it."""

    api = V2()
    heal_of_the_whole = {"cause": "scenario", "additionalParams": {"all": True}}

    def test_life_of_a_registry(self) -> None:
        self.check_life()

    def image_params(self, server: Remote) -> dict[str, Any]:
        image = registry_image()
        with step(f"serve the registry's image on {server.address}"):
            server.put(image, "image.tar")
            server.run(
                "sudo systemd-run --quiet --unit=images --working-directory=/home/$USER "
                f"python3 -m http.server {IMAGE_PORT}"
            )
        return {
            "image_path": None,
            "image_url": f"http://{server.address}:{IMAGE_PORT}/image.tar",
            "image_sha256": hashlib.sha256(image.read_bytes()).hexdigest(),
        }
