"""The NFS server of a machine."""

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mgmt_drivers.engine.services import Store
from mgmt_drivers.errors import VolumeError
from mgmt_drivers.machine import files, syntax, units
from mgmt_drivers.machine.files import File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.ssh.session import LIST_OUTPUT

UNIT = "nfs-server.service"
SERVER_PACKAGE = "nfs-kernel-server"
CLIENT_PACKAGE = "nfs-common"
_EXPORTS = "/etc/exports.d/mgmt-driver.exports"
# User and group of clients' root with root_squash. Clients name any other user as they like, and
# their root cannot give them a folder.
_NOBODY = "nobody:nogroup"
_STRICT = "nfs_exports_are_strict"  # in the store
_NAMESPACE = uuid.UUID("7a3b2a0e-5b7e-4d3c-9f5a-0c6d5f2f1b60")


@dataclass(frozen=True)
class Export:
    """A folder, the network that may mount the folder, and the mount point above the folder.

    ``squashes_root``: root of the clients becomes nobody on the server. ``checks_subtree``: clients
    reach nothing else of the file system with file handles that they have made up.
    """

    folder: str
    network: str
    mount_point: str
    squashes_root: bool = True
    checks_subtree: bool = True

    def line(self) -> str:
        """The line of exports(5), which exports nothing while the volume is not mounted.

        The fsid stays the same when the server is replaced, so that file handles of clients stay
        valid.
        """
        place = syntax.words(self.folder, self.network)
        squash = "root_squash" if self.squashes_root else "no_root_squash"
        # The whole file system needs no check, which a file that moves while it is open may fail.
        is_checked = self.checks_subtree and self.folder != self.mount_point
        options = [
            "rw", "sync", "subtree_check" if is_checked else "no_subtree_check", squash,
            f"mountpoint={syntax.words(self.mount_point)}",
            f"fsid={uuid.uuid5(_NAMESPACE, self.folder)}",
        ]
        return f"{place}({','.join(options)})"

    def has(self, folder: str) -> bool:
        return f"{folder}/".startswith(f"{self.folder}/")


def make_strict(store: Store) -> None:
    """Let a VNF that has no cluster yet have strict exports, for as long as the VNF lasts.

    Strict exports squash root, unless the parameters say otherwise, and check subtrees. Pods of
    clusters that earlier versions of the drivers made own files as root, and have open files whose
    handles would not pass a check of subtrees.
    """
    store.save(_STRICT, True)


def are_strict(store: Store) -> bool:
    return bool(store.load(_STRICT, False))


def is_serving(host: Host, exports: Sequence[Export]) -> bool:
    return units.is_as_configured(host, UNIT, [_file(exports)]) and not _find_lacking(host, exports)


def serve(host: Host, exports: Sequence[Export], below: Collection[str] = ()) -> None:
    """Export these folders, and end other exports of the drivers; exports of others are kept.

    :param below: folders to create in the exported folders
    :raises MgmtDriverError: if the kernel does not export one of the folders
    """
    for folder in sorted({*below, *(export.folder for export in exports)}):
        if any(export.squashes_root and export.has(folder) for export in exports):
            files.give_folder(host, folder, _NOBODY, "0777")
        else:
            host.sudo("mkdir", "--parents", folder)
    units.configure(host, UNIT, [_file(exports)])
    lacking = _find_lacking(host, exports)
    if lacking:
        raise VolumeError(
            f"the NFS server does not export {', '.join(lacking)}. Look at `journalctl --unit "
            f"{UNIT}` on the machine, then retry"
        )


def _file(exports: Sequence[Export]) -> File:
    head = "# Written by tacker-mgmt-drivers.\n"
    return File(_EXPORTS, head + "".join(f"{export.line()}\n" for export in exports))


def _find_lacking(host: Host, exports: Sequence[Export]) -> list[str]:
    lines = host.sudo("exportfs", "-s", limit=LIST_OUTPUT).splitlines()
    pairs = (line.split(None, 1) for line in lines if " " in line)
    active = {(folder, client.strip().partition("(")[0]) for folder, client in pairs}
    return [f"{e.folder} to {e.network}" for e in exports if (e.folder, e.network) not in active]
