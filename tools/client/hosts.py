"""The compute hosts that the scenarios can fill with servers."""

from openstack.connection import Connection

# The property of an image that names its hypervisor, for Nova's ImagePropertiesFilter.
_HYPERVISOR = "img_hv_type"


def count(connection: Connection, image: str) -> int:
    """Count the compute hosts for servers of an image; needs an administrator's login."""
    shown = connection.image.find_image(image)
    kind = str((shown.properties or {}).get(_HYPERVISOR, "") if shown else "").lower()
    types = [
        str(hypervisor.hypervisor_type).lower()
        for hypervisor in connection.compute.hypervisors(details=True)
        if (hypervisor.state, hypervisor.status) == ("up", "enabled")
    ]
    # On a cloud with one type of hosts the image may use another word for the type (kvm, QEMU).
    return types.count(kind) if kind in types else len(types)
