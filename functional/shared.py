"""Registries that several scenarios use: made when first needed, removed after the last one."""

import atexit
import contextlib
import functools

from functional.registries import OutsideRegistry, run_outside_registry
from tools.client import clusters, kubernetes_source
from tools.client.config import CONFIG, cloud

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
    return clusters.private_registry(_cleanup)


@functools.cache
def outside_registry() -> OutsideRegistry:
    """A registry that Tacker does not manage."""
    return _cleanup.enter_context(run_outside_registry(cloud()))
