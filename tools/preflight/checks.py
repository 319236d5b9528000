"""All that the scenarios need, checked together: each fault is reported, not only the first."""

from collections.abc import Callable, Sequence

from openstack.connection import Connection

from tools.client.config import tacker
from tools.preflight import compute, images, networks, quota, vims
from tools.preflight.missing import Missing
from tools.preflight.requirements import SERVICES

Check = Callable[[Connection], list[Missing]]


def _vims(connection: Connection) -> list[Missing]:
    return vims.missing(connection, tacker(connection))


# Each check with the services that it asks.
CHECKS: tuple[tuple[tuple[str, ...], Check], ...] = (
    (("image",), images.missing),
    (("compute",), compute.missing_flavors),
    (("compute", "image"), compute.missing_hosts),
    (("compute",), quota.missing_compute),
    (("network",), networks.missing),
    (("network",), quota.missing_network),
    (("block-storage",), quota.missing_volumes),
    (("nfv-orchestration",), _vims),
)


def missing(connection: Connection) -> list[Missing]:
    """What the cloud lacks for the scenarios.

    :raises Exception: when the cloud refuses the login
    """
    return run(connection, CHECKS)


def run(
    connection: Connection, made: Sequence[tuple[tuple[str, ...], Check]]
) -> list[Missing]:
    """What checks find missing, those whose services are there.

    :raises Exception: when the cloud refuses the login
    """
    connection.authorize()
    absent = {name for name in SERVICES if not connection.endpoint_for(name)}
    found = [
        Missing(f"the catalog has no service {name}", hint="An administrator installs it.")
        for name in SERVICES
        if name in absent
    ]
    for services, check in made:
        if not absent.intersection(services):
            found += _checked(check, connection)
    return found


def _checked(check: Check, connection: Connection) -> list[Missing]:
    """What a check finds; a check that fails hides none of the others."""
    try:
        return check(connection)
    except Exception as error:
        name = f"{check.__module__}.{check.__name__.strip('_')}"
        return [Missing(f"{name} cannot look: {type(error).__name__}: {error}")]
