"""The backup to restore in a new cluster, checked before anything is changed."""

import logging
from pathlib import Path

from mgmt_drivers.cluster.backup import archive, backup, backup_keys, restoring
from mgmt_drivers.cluster.backup.archive import Contents, why_not_restorable
from mgmt_drivers.cluster.backup.backup import SavedBackup
from mgmt_drivers.cluster.backup.backup_keys import BackupKeys
from mgmt_drivers.cluster.backup.backup_params import RESTORE, Restore, read_restore
from mgmt_drivers.cluster.backup.restoring import REACH
from mgmt_drivers.cluster.cluster_params import NAME, KubernetesParams
from mgmt_drivers.cluster.nodes import node_metadata
from mgmt_drivers.cluster.storage import disks
from mgmt_drivers.cluster.topology import Topology
from mgmt_drivers.engine.services import Services, Store
from mgmt_drivers.errors import MgmtDriverError, OperationError, ParameterError
from mgmt_drivers.machine.host import Host
from mgmt_drivers.operations.opening import open_operation
from mgmt_drivers.params.reader import Reader, ValidationErrors
from mgmt_drivers.request import LcmRequest

LOG = logging.getLogger(__name__)

_HEAL = "additionalParams"  # of a heal request
_LATER = "the backup is checked later, before kubeadm begins"


def of_instantiation(params: KubernetesParams) -> Restore | None:
    """Find the backup that an instantiation restores, if any: a file of the VNF package.

    :raises ParameterError: if the backup cannot be restored with these parameters
    """
    file = params.restore_from
    if file is None:
        return None
    keys = params.restore_keys or BackupKeys({}, {})
    _read_file(f"{NAME}.{RESTORE}", file, params, keys)
    return Restore(file.name, file)


def of_heal(
    request: LcmRequest, params: KubernetesParams, store: Store
) -> tuple[Restore | None, Contents | None]:
    """Find the backup that a heal of the whole VNF restores, if any.

    A file of the VNF package is verified, and its contents returned.

    :raises ParameterError: if the backup cannot exist, or cannot be restored with these parameters
    """
    if request.restore_from is None:
        return None, None
    errors = ValidationErrors()
    reader = Reader({RESTORE: request.restore_from}, _HEAL, errors)
    restore = read_restore(reader, request.package, params.backup, request.keeps_volumes)
    errors.raise_if_any()
    if restore.file is None:
        return restore, None
    keys = backup_keys.load(store).joined_with(params.restore_keys)
    return restore, _read_file(f"{_HEAL}.{RESTORE}", restore.file, params, keys, REACH)


def refuse(request: LcmRequest) -> None:
    """:raises ParameterError: if a heal of single VNFCs names a backup"""
    if request.restore_from is not None:
        text = "only the heal of the whole VNF (a request without vnfcInstanceId) restores a backup"
        raise ParameterError([f"{_HEAL}.{RESTORE}: {text}"])


def begin(store: Store, known: Topology, contents: Contents | None) -> None:
    """Keep what the heal of the whole VNF needs: the names of its nodes, and a backup's version."""
    names = {known.name(node): node.vnfc_id for node in known.nodes if node.server_id}
    node_metadata.save_replaced(store, names)
    if contents:
        restoring.take_version(store, known.params, contents)


def look_for(
    request: LcmRequest, services: Services, known: Topology, restore: Restore
) -> Contents | None:
    """Look for a backup on the storage server; None if the backup is looked for later.

    If the server does not answer, or an earlier attempt has failed before it set up a new server, a
    phase looks for the backup later, before kubeadm begins.

    :raises ParameterError: if there is no such backup, or the backup cannot be restored
    """
    server, place = known.backup_server, known.params.backup
    assert server and place, "the parameters were checked"
    keys = backup_keys.load(services.store)

    def check(host: Host) -> Contents | None:
        mount_point = server.params.volume_of(place.folder).mount_point
        if not disks.is_mount_point(host, mount_point):
            LOG.warning("the storage server has not mounted its volume: %s", _LATER)
            return None

        def read(saved: SavedBackup) -> Contents:
            return archive.read(host, f"{place.folder}/{saved.name}", keys)

        backups = backup.list_backups_on(host, place)
        return restoring.choose(restore, backups, keys, host.clock.time(), read)

    with open_operation(request, services, known) as operation:
        hosts = operation.connect_to_running([server.node])
        if not hosts:
            LOG.warning("the storage server does not answer: %s", _LATER)
            return None
        try:
            contents = operation.ask("look for the backup", hosts[0], check)
        except OperationError as error:  # in which secrets are masked
            raise ParameterError([f"{_HEAL}.{RESTORE}: {error}"]) from error
    if contents and (reason := why_not_restorable(contents, known.params, REACH)):
        raise ParameterError([f"{_HEAL}.{RESTORE}: {reason}"])
    return contents


def _read_file(
    path: str, file: Path, params: KubernetesParams, keys: BackupKeys, reach: int = 0
) -> Contents:
    """:raises ParameterError: if the backup in a file cannot be restored with these parameters"""
    try:
        contents = archive.read_file(file, keys)
        reason = why_not_restorable(contents, params, reach)
    except MgmtDriverError as error:
        raise ParameterError([f"{path}: {error}"]) from error
    if reason:
        raise ParameterError([f"{path}: {reason}"])
    return contents
