"""The cloud's compute hosts; all that is here needs an administrator's login."""

import contextlib
from collections.abc import Iterator
from typing import Any

from openstack.connection import Connection

# The property of an image that names its hypervisor, for Nova's ImagePropertiesFilter.
_HYPERVISOR = "img_hv_type"


def count(connection: Connection, image: str) -> int:
    """Count the compute hosts for servers of an image."""
    shown = connection.image.find_image(image)
    kind = str((shown.properties or {}).get(_HYPERVISOR, "") if shown else "").lower()
    types = [
        str(hypervisor.hypervisor_type).lower()
        for hypervisor in connection.compute.hypervisors(details=True)
        if (hypervisor.state, hypervisor.status) == ("up", "enabled")
    ]
    # On a cloud with one type of hosts the image may use another word for the type (kvm, QEMU).
    return types.count(kind) if kind in types else len(types)


def service(connection: Connection, host: str) -> Any:
    """The service nova-compute of a host."""
    (found,) = (
        service
        for service in connection.compute.services()
        if (service.binary, service.host) == ("nova-compute", host)
    )
    return found


@contextlib.contextmanager
def down(connection: Connection, host: str) -> Iterator[None]:
    """Tell Nova that a host is dead: Nova then deletes servers without asking the host.

    The host's servers must have no power any more.
    """
    compute, found = connection.compute, service(connection, host)
    compute.update_service_forced_down(found, forced=True)
    try:
        yield
    finally:
        compute.update_service_forced_down(found, forced=False)
