"""The NFS server of a machine."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.machine import files, syntax, units
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.ssh.session import LIST_OUTPUT

UNIT = "nfs-server.service"
SERVER_PACKAGE = "nfs-kernel-server"
CLIENT_PACKAGE = "nfs-common"
_EXPORTS = "/etc/exports.d/mgmt-driver.exports"
_NOBODY = "nobody:nogroup"  # user and group of clients with root_squash
_NAMESPACE = uuid.UUID("7a3b2a0e-5b7e-4d3c-9f5a-0c6d5f2f1b60")


@dataclass(frozen=True)
class Export:
    """A folder, the network that may mount the folder, and the mount point above the folder.

    ``squashes_root``: root of the clients becomes nobody on the server.
    """

    folder: str
    network: str
    mount_point: str
    squashes_root: bool = False

    def line(self) -> str:
        """The line of exports(5), which exports nothing while the volume is not mounted.

        The fsid stays the same when the server is replaced, so that file handles of clients stay
        valid.
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
    return units.is_as_configured(host, UNIT, [_file(exports)]) and not _find_lacking(host, exports)


def serve(host: Host, exports: Sequence[Export], below: Collection[str] = ()) -> None:
    """Export these folders, and end other exports of the drivers; exports of others are kept.

    :param below: folders to create in the exported folders
    :raises MgmtDriverError: if the kernel does not export one of the folders
    """
    for folder in sorted({*below, *(export.folder for export in exports)}):
        if any(export.squashes_root and export.has(folder) for export in exports):
            files.give_folder(host, folder, _NOBODY)
        else:
            host.sudo("mkdir", "--parents", folder)
    units.configure(host, UNIT, [_file(exports)])
    lacking = _find_lacking(host, exports)
    if lacking:
        raise MgmtDriverError(
            f"the NFS server does not export {', '.join(lacking)}. Look at `journalctl --unit "
            f"{UNIT}` on the machine, then retry"
        )


def _file(exports: Sequence[Export]) -> File:
    head = "# Written by tacker-mgmt-drivers.\n"
    return File(_EXPORTS, head + "".join(f"{export.line()}\n" for export in exports))


def _find_lacking(host: Host, exports: Sequence[Export]) -> list[str]:
    """Find the exports that the kernel lacks."""
    lines = host.sudo("exportfs", "-s", limit=LIST_OUTPUT).splitlines()
    pairs = (line.split(None, 1) for line in lines if " " in line)
    active = {(folder, client.strip().partition("(")[0]) for folder, client in pairs}
    return [f"{e.folder} to {e.network}" for e in exports if (e.folder, e.network) not in active]
