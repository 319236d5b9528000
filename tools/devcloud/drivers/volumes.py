"""A Cinder volume driver whose volumes are sparse files of the controller."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from cinder import interface
from cinder.image import image_utils
from cinder.volume import driver

_FOLDER = Path("/var/lib/cinder/files")


@interface.volumedriver
class FileDriver(driver.VolumeDriver):
    """Volumes of one backend; see cinder.interface.volume_driver for the methods."""

    VERSION = "1"

    def do_setup(self, context: Any) -> None:
        _FOLDER.mkdir(parents=True, exist_ok=True)

    def check_for_setup_error(self) -> None:
        """Nothing can be wrong."""

    def create_volume(self, volume: Any) -> None:
        with _path(volume).open("wb") as file:
            file.truncate(volume.size << 30)

    def delete_volume(self, volume: Any) -> None:
        _path(volume).unlink(missing_ok=True)

    def extend_volume(self, volume: Any, new_size: int) -> None:
        os.truncate(_path(volume), new_size << 30)

    def create_snapshot(self, snapshot: Any) -> None:
        _copy(_path(snapshot.volume), _path(snapshot))

    def delete_snapshot(self, snapshot: Any) -> None:
        _path(snapshot).unlink(missing_ok=True)

    def create_volume_from_snapshot(self, volume: Any, snapshot: Any) -> None:
        _copy(_path(snapshot), _path(volume))
        self.extend_volume(volume, volume.size)

    def create_cloned_volume(self, volume: Any, src_vref: Any) -> None:
        _copy(_path(src_vref), _path(volume))
        self.extend_volume(volume, volume.size)

    def copy_image_to_volume(
        self, context: Any, volume: Any, image_service: Any, image_id: str, **_: Any
    ) -> None:
        image_utils.fetch_to_raw(
            context,
            image_service,
            image_id,
            str(_path(volume)),
            self.configuration.volume_dd_blocksize,
            size=volume.size,
        )

    def initialize_connection(self, volume: Any, connector: Any) -> dict[str, Any]:
        return {
            "driver_volume_type": "file",
            "data": {"device_path": str(_path(volume)), "volume_id": volume.id},
        }

    def terminate_connection(self, volume: Any, connector: Any, **_: Any) -> None:
        """A file needs no connection."""

    def ensure_export(self, context: Any, volume: Any) -> None:
        """A file needs no export."""

    def create_export(self, context: Any, volume: Any, connector: Any) -> None:
        """A file needs no export."""

    def remove_export(self, context: Any, volume: Any) -> None:
        """A file needs no export."""

    def _update_volume_stats(self) -> None:
        disk = shutil.disk_usage(_FOLDER)
        self._stats = {
            "volume_backend_name": self.configuration.safe_get("volume_backend_name"),
            "vendor_name": "devcloud",
            "driver_version": self.VERSION,
            "storage_protocol": "file",
            "total_capacity_gb": disk.total >> 30,
            "free_capacity_gb": disk.free >> 30,
            "thin_provisioning_support": True,
            "max_over_subscription_ratio": 20.0,
            "reserved_percentage": 0,
            "multiattach": False,
        }


def _path(thing: Any) -> Path:
    """File of a volume or snapshot."""
    return _FOLDER / str(thing.id)


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "--sparse=always", source, target], check=True)
