"""The base of scenarios with private registry VNFs."""

import io
import json
import os
import tarfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import docker

from functional.requests import REQUESTS, ask_for_address
from functional.scenario import Scenario
from tools.client import networks, stacks, wait
from tools.client.config import CONFIG
from tools.client.lcm import Package, Vnf
from tools.client.log import log, step
from tools.client.machines import Remote
from tools.client.packages import private_registry_csar
from tools.client.requests import load_request

REQUEST = REQUESTS / "private_registry/instantiate.json"
PORT = 5000
IMAGE_PORT = 8000


class RegistryScenario(Scenario):
    """The base of scenarios with registries."""

    def address(self, vnf: Vnf) -> str:
        (address,) = stacks.addresses(self.cloud, vnf.id)
        return address

    def onboard_package(self, files: Mapping[str, Path] | None = None) -> Package:
        """Onboard the package of the registry for this version of the API."""
        return self.onboard_csar(private_registry_csar(files, self.api.variant))


class RegistryLife(RegistryScenario):
    """A registry is used and healed.

    ``heal_of_the_whole`` is the request after which Heat has deleted the stack and made another.
    """

    heal_of_the_whole: dict[str, Any] = {"cause": "scenario"}

    def image_params(self, server: Remote) -> dict[str, Any]:
        """Parameters that name the source of the image; without any it is the package."""
        return {}

    def check_life(self) -> None:
        """Instantiate, push and pull, heal one VNFC, heal the whole VNF, terminate.

        Machines that use the registry are told its address once: the heals keep the address.
        """
        # The puller may serve the image, see image_params.
        machines = stacks.machines(self.cloud, ["pusher", "puller"], [IMAGE_PORT])
        pusher, puller = self.enter(machines)
        address = networks.free_address(self.cloud, CONFIG.network)
        for machine in (pusher, puller):
            machine.allow_plain_http(f"{address}:{PORT}")
        vnf = self.create_vnf(self.onboard_package())
        request = load_request(REQUEST, self.tacker, **self.image_params(puller))
        ask_for_address(request, address)
        self.assert_completed(vnf.instantiate(request))
        self.check_bridge(Remote(address))
        self.push_and_pull(pusher, puller, address)

        (vnfc,) = vnf.vnfcs()
        self.assert_completed(vnf.heal({"vnfcInstanceId": [vnfc["id"]], "cause": "scenario"}))
        self.assert_replaced(vnfc, vnf, address)
        self.push_and_pull(pusher, puller, address)

        (vnfc,) = vnf.vnfcs()
        self.assert_completed(vnf.heal(dict(self.heal_of_the_whole)))
        self.assert_replaced(vnfc, vnf, address)
        self.push_and_pull(pusher, puller, address)

        self.check_registry_after_docker_restart(Remote(address))
        self.assert_completed(vnf.terminate())
        self.assertEqual("NOT_INSTANTIATED", vnf.show()["instantiationState"])

    def check_bridge(self, machine: Remote) -> None:
        """Docker's bridge has a small network, not the 172.17.0.0/16 that users may come from."""
        shown = machine.run("ip -4 -o address show docker0")
        log(shown.strip())
        self.assertRegex(shown, r"inet (172\.31|192\.168|10\.255)\.255\.1/24 ")

    def assert_replaced(self, old: dict[str, Any], vnf: Vnf, address: str) -> None:
        """Another machine has the address."""
        (new,) = vnf.vnfcs()
        self.assertNotEqual(
            old["computeResource"]["resourceId"], new["computeResource"]["resourceId"]
        )
        self.assertEqual(address, self.address(vnf))
        answer = get(f"http://{address}:{PORT}/v2/")
        self.assertEqual(200, answer.status)

    def push_and_pull(self, pusher: Remote, puller: Remote, registry: str) -> None:
        """An image pushed by one machine is pulled, the same, by another."""
        name = f"{registry}:{PORT}/scenario"
        with step(f"push an image to {registry} and pull it on another machine"):
            with pusher.docker() as engine:
                engine.api.import_image_from_data(tiny_image(), repository=name, tag="1")
                pushed = engine.images.get(f"{name}:1").id
                raise_on_error(engine.api.push(name, tag="1", stream=True, decode=True))
            with puller.docker() as engine:
                self.assertEqual(pushed, engine.images.pull(name, tag="1").id)

    def check_registry_after_docker_restart(self, machine: Remote) -> None:
        """--restart always: the container comes back with the engine, with its data."""
        with step("restart the machine's Docker engine"):
            machine.run("sudo systemctl restart docker")
            url = f"http://{machine.address}:{PORT}/v2/_catalog"
            seen = wait.until(lambda: _body(url), bool, 60, "the registry after a restart")
        self.assertEqual({"repositories": ["scenario"]}, json.loads(seen))


def get(url: str) -> Any:
    return urllib.request.urlopen(url, timeout=10)


def _body(url: str) -> str:
    try:
        return str(get(url).read().decode())
    except OSError:
        return ""


def tiny_image() -> bytes:
    """A root file system of one file with unique content."""
    content = f"scenario {time.time_ns()} {os.urandom(8).hex()}\n".encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        entry = tarfile.TarInfo("content")
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def raise_on_error(events: Any) -> None:
    for event in events:
        if "error" in event:
            raise docker.errors.APIError(event["error"])
