"""Nova's libvirt driver, with volumes that are files and the one chassis of this cloud."""

from typing import Any

from nova.virt.libvirt import driver
from nova.virt.libvirt.volume import volume

from tools.devcloud.drivers import interfaces


class FileVolumeDriver(volume.LibvirtBaseVolumeDriver):
    """A volume that Cinder describes as a raw file on this machine."""

    def __init__(self, host: Any) -> None:
        super().__init__(host, is_block_dev=False)

    def get_config(self, connection_info: Any, disk_info: Any) -> Any:
        config = super().get_config(connection_info, disk_info)
        config.source_type = "file"
        config.source_path = connection_info["data"]["device_path"]
        config.driver_format = "raw"
        return config

    def extend_volume(self, connection_info: Any, instance: Any, requested_size: int) -> int:
        return requested_size


class QemuDriver(driver.LibvirtDriver):
    """Servers that are QEMU machines."""

    def network_binding_host_id(self, context: Any, instance: Any) -> str:
        return interfaces.CHASSIS

    def _create_guest_with_network(
        self, context: Any, xml: str, instance: Any, network_info: Any, *rest: Any, **more: Any
    ) -> Any:
        """Set the machine's taps up once more, when Open vSwitch has them.

        libvirt sets a tap up, Open vSwitch makes it promiscuous, and each does so by reading the
        flags and writing them back: what the other has changed in between is undone. A machine
        whose tap stays down gets no address.
        """
        guest = super()._create_guest_with_network(
            context, xml, instance, network_info, *rest, **more
        )
        for vif in network_info:
            interfaces.set_up(vif)
        return guest


driver.VOLUME_DRIVERS["file"] = f"{__name__}.FileVolumeDriver"
