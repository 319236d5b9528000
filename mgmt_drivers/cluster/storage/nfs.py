"""The NFS server of a machine."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine import files, syntax, units
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host

UNIT = "nfs-server.service"
SERVER_PACKAGE = "nfs-kernel-server"
CLIENT_PACKAGE = "nfs-common"
_EXPORTS = "/etc/exports.d/mgmt-driver.exports"
_NOBODY = "nobody:nogroup"  # user and group as whom clients write whose root is squashed
_NAMESPACE = uuid.UUID("7a3b2a0e-5b7e-4d3c-9f5a-0c6d5f2f1b60")


@dataclass(frozen=True)
class Export:
    """A folder, the network that may mount it, and the mount point it lies below.

    ``squashes_root``: root of the clients is nobody.
    """

    folder: str
    network: str
    mount_point: str
    squashes_root: bool = False

    def line(self) -> str:
        """As exports(5) wants it: never the root disk's folder where the volume is missing.

        The fsid stays the same when the server is replaced, so that handles of clients do.
        """
        place = syntax.words(self.folder, self.network)
        squash = "root_squash" if self.squashes_root else "no_root_squash"
        options = [
            "rw", "sync", "no_subtree_check", squash,
            f"mountpoint={syntax.words(self.mount_point)}",
            f"fsid={uuid.uuid5(_NAMESPACE, self.folder)}",
        ]
        return f"{place}({','.join(options)})"

    def has(self, folder: str) -> bool:
        return f"{folder}/".startswith(f"{self.folder}/")


def is_serving(host: Host, exports: Sequence[Export]) -> bool:
    return units.is_as_configured(host, UNIT, [_file(exports)]) and not _lacking(host, exports)


def serve(host: Host, exports: Sequence[Export], below: Collection[str] = ()) -> None:
    """Export these folders, and no others of ours; other programs' exports stay.

    :param below: folders in them that are to be there too
    :raises MgmtDriverError: when the kernel does not export one of them
    """
    for folder in sorted({*below, *(export.folder for export in exports)}):
        if any(export.squashes_root and export.has(folder) for export in exports):
            files.give_folder(host, folder, _NOBODY)
        else:
            host.sudo("mkdir", "--parents", folder)
    units.configure(host, UNIT, [_file(exports)])
    lacking = _lacking(host, exports)
    if lacking:
        raise MgmtDriverError(f"NFS does not export {', '.join(lacking)}")


def _file(exports: Sequence[Export]) -> File:
    head = "# Written by tacker-mgmt-drivers.\n"
    return File(_EXPORTS, head + "".join(f"{export.line()}\n" for export in exports))


def _lacking(host: Host, exports: Sequence[Export]) -> list[str]:
    """Ask for the exports that the kernel lacks."""
    lines = host.sudo("exportfs", "-s").splitlines()
    pairs = (line.split(None, 1) for line in lines if " " in line)
    seen = {(folder, client.strip().partition("(")[0]) for folder, client in pairs}
    wanted = [(export.folder, export.network) for export in exports]
    return [f"{folder} to {network}" for folder, network in wanted if (folder, network) not in seen]
