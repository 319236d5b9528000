"""Registries that several scenarios use: made when first needed, removed after the last one."""

import atexit
import contextlib
import functools

from functional.registries import OutsideRegistry, run_outside_registry
from functional.requests import REQUESTS
from tools.client import kubernetes_source, stacks
from tools.client.config import CONFIG, cloud, tacker
from tools.client.lcm import Package, Vnf
from tools.client.names import unique
from tools.client.packages import private_registry_csar
from tools.client.requests import load_request

# The scenarios run one after another, in one process.
_cleanup = contextlib.ExitStack()
atexit.register(_cleanup.close)


def private_registry() -> str:
    """Host and port of a private registry VNF that holds the images of Kubernetes."""
    registry = _private_registry()
    _push_images(registry, CONFIG.kubernetes_version)
    return registry


@functools.cache
def _push_images(registry: str, version: str) -> None:
    """Push the images of the configured version, once."""
    kubernetes_source.push_images(registry)


@functools.cache
def _private_registry() -> str:
    client, connection = tacker(cloud()), cloud()
    package = Package(client, private_registry_csar())
    _cleanup.callback(package.delete)
    vnf = Vnf.create(client, package, unique("registry"))
    _cleanup.callback(vnf.remove)
    outcome = vnf.instantiate(load_request(REQUESTS / "private_registry/instantiate.json", client))
    if outcome["operationState"] != "COMPLETED":
        raise AssertionError(outcome["error"]["detail"])
    (address,) = stacks.addresses(connection, vnf.id)
    return f"{address}:5000"


@functools.cache
def outside_registry() -> OutsideRegistry:
    """A registry that Tacker does not manage."""
    return _cleanup.enter_context(run_outside_registry(cloud()))
