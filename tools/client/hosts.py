"""The compute hosts that the scenarios can fill with servers."""

from openstack.connection import Connection

# The property of an image that names its hypervisor, for Nova's ImagePropertiesFilter.
_HYPERVISOR = "img_hv_type"


def count(connection: Connection, image: str) -> int:
    """How many compute hosts take servers of an image. Only an administrator may know."""
    found = connection.image.find_image(image)
    wanted = str((found.properties or {}).get(_HYPERVISOR, "") if found else "").lower()
    types = [
        str(hypervisor.hypervisor_type).lower()
        for hypervisor in connection.compute.hypervisors(details=True)
        if (hypervisor.state, hypervisor.status) == ("up", "enabled")
    ]
    # Where there is one kind of hosts, the image's property names it in another word (kvm, QEMU).
    return types.count(wanted) if wanted in types else len(types)
