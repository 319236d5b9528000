"""Packages and VNFs for measurements and scenarios, which a cleanup removes."""

import contextlib
from pathlib import Path
from typing import Any

from tackerclient.v1_0.client import Client

from tools.client import stacks, wait
from tools.client.api import V1, Api
from tools.client.config import CHECKOUT, cloud, tacker
from tools.client.errors import ClientError
from tools.client.lcm import FINAL_STATES, Package, Vnf
from tools.client.names import unique
from tools.client.packages import private_registry_csar
from tools.client.requests import load_request
from tools.client.self_heal import error_of

REQUESTS = CHECKOUT / "functional/requests"
_LIMIT = 1200  # seconds for an operation that goes on after an interruption


def onboard(client: Client, csar: Path, cleanup: contextlib.ExitStack) -> Package:
    package = Package(client, csar)
    cleanup.callback(package.delete)
    return package


def create(
    client: Client, package: Package, prefix: str, api: Api, cleanup: contextlib.ExitStack
) -> Vnf:
    """Create a VNF instance, whose name begins with ``prefix``."""
    vnf = Vnf.create(client, package, unique(prefix), api)
    cleanup.callback(remove, vnf)
    return vnf


def remove(vnf: Vnf) -> None:
    """Terminate and delete an instance when its operation has ended: an interruption ends none."""
    await_operations(vnf)
    vnf.remove()


def await_operations(vnf: Vnf) -> None:
    """:raises TimeoutError: if an operation of the instance does not end"""
    wait.until(
        lambda: {occurrence["operationState"] for occurrence in vnf.occurrences()},
        lambda states: states <= FINAL_STATES, _LIMIT, f"the end of the operation of {vnf.name}",
    )


def check_completed(vnf: Vnf, occurrence: dict[str, Any]) -> None:
    """:raises ClientError: with the operation's error, if it has failed"""
    if occurrence["operationState"] != "COMPLETED":
        raise ClientError(f"{occurrence['operation']} of {vnf.name}: {error_of(occurrence)}")


def private_registry(cleanup: contextlib.ExitStack) -> str:
    """Make a private registry without images; returns its host and port.

    :raises ClientError: with Tacker's error
    """
    connection = cloud()
    client = tacker(connection)
    package = onboard(client, private_registry_csar(), cleanup)
    vnf = create(client, package, "registry", V1(), cleanup)
    request = load_request(REQUESTS / "private_registry/instantiate.json", client)
    check_completed(vnf, vnf.instantiate(request))
    (address,) = stacks.addresses(connection, vnf.id)
    return f"{address}:5000"
