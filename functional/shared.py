"""What several scenarios use: made by the first that asks, gone when the last has ended."""

import atexit
import contextlib
import functools

from functional.registries import OutsideRegistry, outside_registry
from functional.requests import REQUESTS
from tools.client import kubernetes_source, stacks
from tools.client.config import cloud, tacker
from tools.client.lcm import Package, Vnf
from tools.client.packages import private_registry_csar
from tools.client.requests import load_request

# The scenarios run one after another, in one process.
_at_the_end = contextlib.ExitStack()
atexit.register(_at_the_end.close)


@functools.cache
def registry() -> str:
    """Host and port of a private registry VNF that holds the images of Kubernetes."""
    client, connection = tacker(cloud()), cloud()
    package = Package(client, private_registry_csar())
    _at_the_end.callback(package.delete)
    vnf = Vnf.create(client, package, "scenarios-registry")
    _at_the_end.callback(vnf.remove)
    outcome = vnf.instantiate(load_request(REQUESTS / "private_registry/instantiate.json", client))
    if outcome["operationState"] != "COMPLETED":
        raise AssertionError(outcome["error"]["detail"])
    (address,) = stacks.addresses(connection, vnf.id)
    with stacks.machines(connection, ["pusher"]) as (pusher,):
        kubernetes_source.push_images(pusher, f"{address}:5000")
    return f"{address}:5000"


@functools.cache
def outside() -> OutsideRegistry:
    """A registry that is no VNF."""
    return _at_the_end.enter_context(outside_registry(cloud()))
