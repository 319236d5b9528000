"""The common part of the classes that Tacker's v1 API loads.

The classes only translate Tacker's objects into a request, and results into the VNF instance.
"""

import functools
import json
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from oslo_config import cfg
from oslo_utils import uuidutils
from tacker.db.db_sqlalchemy.models import VnfLcmOpOccs
from tacker.db.vnfm.vnfm_db import VNFAttribute
from tacker.objects.fields import ErrorPoint
from tacker.vnflcm import utils as vnflcm_utils
from tacker.vnfm import vim_client
from tacker.vnfm.mgmt_drivers import vnflcm_noop

from mgmt_drivers.engine import trace
from mgmt_drivers.engine.services import KEY_PREFIX, Services, load_kept
from mgmt_drivers.inventory import Heat, VimAccess
from mgmt_drivers.package import has_base_hot
from mgmt_drivers.request import LcmRequest, Vnfc
from mgmt_drivers.tacker import options, vnfd

# States of operation occurrences that nobody can retry (ETSI SOL003 5.6.2.2).
_ENDED = ("COMPLETED", "FAILED", "ROLLED_BACK")
_CONFIG = options.register(cfg.CONF)


class MgmtDriver(vnflcm_noop.VnflcmMgmtNoop):
    """Base of the drivers; hooks that a subclass does not have do nothing.

    ``name`` is the name of the entry point. ``user_data`` are the file and the class that Tacker's
    v1 API needs in every request for a package with a BaseHOT, for requests that leave them out.
    """

    name: str
    description: str
    user_data: tuple[str, str]

    def get_type(self) -> str:
        return self.name

    def get_name(self) -> str:
        return self.name

    def get_description(self) -> str:
        return self.description

    def heal_start(
        self, context: Any, vnf_instance: Any, heal_vnf_request: Any, **kwargs: Any
    ) -> None:
        if heal_vnf_request.vnfc_instance_id:
            forget_error_points(context, vnf_instance)
        else:
            # A heal of the whole VNF instantiates again, with the parameters that Tacker kept from
            # the instantiate request, without the additions of instantiate_start.
            self.add_user_data(context, vnf_instance, vnf_instance.instantiated_vnf_info)

    def terminate_end(
        self, context: Any, vnf_instance: Any, terminate_vnf_request: Any, **kwargs: Any
    ) -> None:
        # Also called at the end of a rollback, without terminate_start and without a request. The
        # trace is kept then, since it shows the cause of the rollback.
        InstanceStore(vnf_instance).clear()
        if terminate_vnf_request is not None:
            trace.remove(_trace_folder(), vnf_instance.id)

    def add_user_data(self, context: Any, vnf_instance: Any, source: Any) -> None:
        package = vnflcm_utils._get_vnf_package_path(context, vnf_instance.vnfd_id)
        if not has_base_hot(Path(package), source.flavour_id):
            return  # then Tacker makes a template of the VNFD only if a request names no UserData
        file, name = self.user_data
        default = {"lcm-operation-user-data": file, "lcm-operation-user-data-class": name}
        source.additional_params = {**default, **(source.additional_params or {})}


def keep_attributes(context: Any, vnf: Any) -> None:
    """Write the attributes of a VNF that is being instantiated into Tacker's database.

    Tacker (15, 16) writes the attributes after the last hook has succeeded, and makes them together
    with the stack: a retry after a hook that failed has none. Then Tacker could never scale the VNF
    ("KeyError: 'scale_group'").

    :param vnf: the argument of that name of the hook ``instantiate_end``
    """
    rows = context.session.query(VNFAttribute).filter_by(vnf_id=vnf["id"])
    for key, value in vnf["attributes"].items():
        row = rows.filter_by(key=key).first()
        if row is None:
            row = VNFAttribute(id=uuidutils.generate_uuid(), vnf_id=vnf["id"], key=key)
            context.session.add(row)
        row.value = value
    context.session.commit()


def forget_error_points(context: Any, vnf_instance: Any) -> None:
    """Let Heat replace the machines of a heal, however earlier operations have failed.

    Tacker (15, 16) tells Heat which machines are to be replaced only if the error point of an
    operation occurrence of the VNF lies before Heat's part: of whichever the database gives first,
    and a failure keeps its error point when a retry has succeeded. Otherwise the heal goes on with
    the machines that it was to replace.
    """
    rows = context.session.query(VnfLcmOpOccs).filter_by(vnf_instance_id=vnf_instance.id)
    ended = rows.filter(VnfLcmOpOccs.operation_state.in_(_ENDED))
    ended.update({"error_point": ErrorPoint.INITIAL}, synchronize_session=False)
    context.session.commit()


def is_package_named(context: Any, vnf_instance: Any) -> bool:
    """Whether the modification that runs names a VNF package; Tacker gives the hook no request."""
    rows = context.session.query(VnfLcmOpOccs.operation_params).filter_by(
        vnf_instance_id=vnf_instance.id, operation="MODIFY_INFO", operation_state="PROCESSING"
    )
    names = ("vnfdId", "vnfPkgId")
    return any(name in str(params) for (params,) in rows for name in names)


class InstanceStore:
    """A :class:`mgmt_drivers.engine.services.Store` in the metadata of the VNF instance."""

    def __init__(self, vnf_instance: Any) -> None:
        self._vnf_instance = vnf_instance
        self._saving = threading.Lock()

    def load(self, key: str, default: Any) -> Any:
        return load_kept(self._vnf_instance.vnf_metadata, key, default)

    def save(self, key: str, value: Any) -> None:
        with self._saving:
            metadata = self._vnf_instance.vnf_metadata or {}
            self._replace({**metadata, f"{KEY_PREFIX}{key}": json.dumps(value)})

    save_secret = save

    def remove(self, key: str) -> None:
        """Remove a key that a request has put into the metadata, after the operation."""
        metadata = self._vnf_instance.vnf_metadata or {}
        self._replace({k: v for k, v in metadata.items() if k != key})

    def clear(self) -> None:
        metadata = self._vnf_instance.vnf_metadata or {}
        self._replace({k: v for k, v in metadata.items() if not k.startswith(KEY_PREFIX)})

    def _replace(self, metadata: dict[str, str]) -> None:
        if metadata != (self._vnf_instance.vnf_metadata or {}):
            self._vnf_instance.vnf_metadata = metadata
            self._vnf_instance.save()


def services(context: Any, vnf_instance: Any) -> Services:
    """The services of a hook: Tacker's configuration, the VNF's Heat, and the VNF instance."""
    return Services(
        stacks=Heat(functools.partial(_vim_access, context, vnf_instance)),
        store=InstanceStore(vnf_instance),
        trace_folder=_trace_folder(),
        ssh_timeout=_CONFIG.ssh_timeout,
    )


def _trace_folder() -> Path | None:
    name = _CONFIG.trace_dir
    return Path(name) if name else None


def _vim_access(context: Any, vnf_instance: Any) -> VimAccess:
    # Tacker itself uses the first VIM, whatever type the request gives it.
    connections = vnf_instance.vim_connection_info[:1]
    vim_id = connections[0].vim_id if connections else None
    region = (connections[0].access_info or {}).get("region") if connections else None
    # VimClient decrypts the password.
    auth = vim_client.VimClient().get_vim(context, vim_id, region_name=region)["vim_auth"]
    verify = str(auth.get("cert_verify", "True")).lower() == "true"
    return VimAccess.from_auth(auth, auth.get("region"), verify)


def lcm_request(
    operation: str,
    context: Any,
    vnf_instance: Any,
    source: Any = None,
    targets: Iterable[str] = (),
    aspect: str = "",
) -> LcmRequest:
    """The request of an operation.

    :param source: the instantiate request; its parameters are later in ``instantiated_vnf_info``
    """
    if source is None:
        source = vnf_instance.instantiated_vnf_info
    package = vnflcm_utils._get_vnf_package_path(context, vnf_instance.vnfd_id)
    definition = vnflcm_utils.get_vnfd_dict(context, vnf_instance.vnfd_id, source.flavour_id)
    info = vnf_instance.instantiated_vnf_info
    return LcmRequest(
        operation=operation,
        vnf_instance_id=vnf_instance.id,
        package=Path(package),
        flavour=source.flavour_id,
        cps=vnfd.cps(definition),
        aspects=vnfd.aspects(definition),
        additional_params=source.additional_params or {},
        stack_id=(info.instance_id or "") if info else "",
        vnfcs=tuple(_vnfc(vnfc) for vnfc in info.vnfc_resource_info or ()) if info else (),
        targets=frozenset(targets),
        aspect=aspect,
    )


def _vnfc(vnfc: Any) -> Vnfc:
    return Vnfc(
        id=vnfc.id,
        vdu_id=vnfc.vdu_id,
        server_id=vnfc.compute_resource.resource_id,
        stack_id=(vnfc.metadata or {}).get("stack_id", ""),
    )
