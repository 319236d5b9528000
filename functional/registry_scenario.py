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

from functional.requests import REQUESTS
from functional.scenario import Scenario
from tools.client import stacks, wait
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
    """A registry is used and healed."""

    def image_params(self, server: Remote) -> dict[str, Any]:
        """Parameters that name the source of the image; without any it is the package."""
        return {}

    def check_life(self) -> None:
        """Instantiate, push and pull, heal one VNFC, heal the whole VNF, terminate."""
        # The puller may serve the image, see image_params.
        machines = stacks.machines(self.cloud, ["pusher", "puller"], [IMAGE_PORT])
        pusher, puller = self.enter(machines)
        vnf = self.create_vnf(self.onboard_package())
        request = load_request(REQUEST, self.tacker, **self.image_params(puller))
        self.assert_completed(vnf.instantiate(request))
        self.check_bridge(Remote(self.address(vnf)))
        self.push_and_pull(pusher, puller, self.address(vnf))

        (vnfc,) = vnf.vnfcs()
        self.assert_completed(vnf.heal({"vnfcInstanceId": [vnfc["id"]], "cause": "scenario"}))
        self.assert_replaced(vnfc, vnf)
        self.push_and_pull(pusher, puller, self.address(vnf))

        (vnfc,) = vnf.vnfcs()
        self.assert_completed(vnf.heal({"cause": "scenario"}))
        self.assert_replaced(vnfc, vnf)
        self.push_and_pull(pusher, puller, self.address(vnf))

        self.check_registry_after_docker_restart(Remote(self.address(vnf)))
        self.assert_completed(vnf.terminate())
        self.assertEqual("NOT_INSTANTIATED", vnf.show()["instantiationState"])

    def check_bridge(self, machine: Remote) -> None:
        """Docker's bridge has a small network, not the 172.17.0.0/16 that users may come from."""
        shown = machine.run("ip -4 -o address show docker0")
        log(shown.strip())
        self.assertRegex(shown, r"inet (172\.31|192\.168|10\.255)\.255\.1/24 ")

    def assert_replaced(self, old: dict[str, Any], vnf: Vnf) -> None:
        (new,) = vnf.vnfcs()
        self.assertNotEqual(
            old["computeResource"]["resourceId"], new["computeResource"]["resourceId"]
        )
        answer = get(f"http://{self.address(vnf)}:{PORT}/v2/")
        self.assertEqual(200, answer.status)

    def push_and_pull(self, pusher: Remote, puller: Remote, registry: str) -> None:
        """An image pushed by one machine is pulled, the same, by another."""
        name = f"{registry}:{PORT}/scenario"
        with step(f"push an image to {registry} and pull it on another machine"):
            for machine in (pusher, puller):
                machine.allow_plain_http(f"{registry}:{PORT}")
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
