"""What the classes that Tacker's v1 API loads have in common.

They only translate: Tacker's objects into a request, and what was learned back
into the VNF instance.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from oslo_config import cfg
from tacker.vnflcm import utils as vnflcm_utils
from tacker.vnfm import vim_client
from tacker.vnfm.mgmt_drivers import vnflcm_noop

from mgmt_drivers import request
from mgmt_drivers.driver import Surroundings

# What is kept in VnfInstance.vnf_metadata has keys that begin like this.
_OURS = "mgmt_driver_"
_HOST_KEYS = f"{_OURS}ssh_host_keys"
_OPTIONS = [
    cfg.StrOpt(
        "trace_dir",
        default="/var/log/tacker/mgmt_drivers",
        help="Folder for the JSON-lines traces of operations; empty for none.",
    ),
    cfg.IntOpt(
        "ssh_timeout",
        default=600,
        min=1,
        help="Seconds for a machine, which may still be booting, to answer on its SSH port.",
    ),
]
cfg.CONF.register_opts(_OPTIONS, "mgmt_drivers")


class MgmtDriver(vnflcm_noop.VnflcmMgmtNoop):
    """Hooks that a subclass has not do nothing; Tacker calls them by keyword.

    ``name`` is the entry point's. ``user_data`` holds file and class that
    Tacker's v1 API wants in every request, for those that leave them out.
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
        # Heal of the whole VNF instantiates anew, from what Tacker kept of the
        # instantiate request: that lacks what instantiate_start added.
        self.add_user_data(vnf_instance.instantiated_vnf_info)

    def terminate_end(
        self, context: Any, vnf_instance: Any, terminate_vnf_request: Any, **kwargs: Any
    ) -> None:
        """Forget all that was kept; also the end of a rollback, which has no terminate_start."""
        metadata = vnf_instance.vnf_metadata or {}
        rest = {key: value for key, value in metadata.items() if not key.startswith(_OURS)}
        if rest != metadata:
            vnf_instance.vnf_metadata = rest
            vnf_instance.save()

    def add_user_data(self, source: Any) -> None:
        file, name = self.user_data
        default = {"lcm-operation-user-data": file, "lcm-operation-user-data-class": name}
        source.additional_params = {**default, **(source.additional_params or {})}


def lcm_request(
    operation: str,
    context: Any,
    vnf_instance: Any,
    source: Any,
    with_vim: bool = True,
    targets: Iterable[str] = (),
) -> request.LcmRequest:
    """The request of an operation.

    :param source: what holds the instantiate request's parameters: that request, or
        the ``instantiated_vnf_info`` in which Tacker keeps them
    :param targets: ids of the VNFCs that the operation is about, where not about all
    """
    package = vnflcm_utils._get_vnf_package_path(context, vnf_instance.vnfd_id)
    return request.from_v1(
        operation,
        vnf_instance,
        source.additional_params or {},
        vnflcm_utils.get_vnfd_dict(context, vnf_instance.vnfd_id, source.flavour_id),
        Path(package),
        flavour=source.flavour_id,
        targets=frozenset(targets),
        vim=_vim(context, vnf_instance) if with_vim else None,
        host_keys=kept(vnf_instance, _HOST_KEYS),
    )


def keep(vnf_instance: Any, key: str, value: Mapping[str, Any]) -> None:
    """Keep something that JSON can hold with the VNF instance."""
    metadata = {**(vnf_instance.vnf_metadata or {}), key: json.dumps(value)}
    vnf_instance.vnf_metadata = metadata
    vnf_instance.save()


def kept(vnf_instance: Any, key: str) -> dict[str, Any]:
    """What was kept under the key, or nothing."""
    value: dict[str, Any] = json.loads((vnf_instance.vnf_metadata or {}).get(key, "{}"))
    return value


def surroundings(vnf_instance: Any) -> Surroundings:
    """Tacker's configuration, and the VNF instance as the place for host keys."""

    def save_host_keys(keys: Mapping[str, str]) -> None:
        keep(vnf_instance, _HOST_KEYS, keys)

    options = cfg.CONF.mgmt_drivers
    folder = Path(options.trace_dir) if options.trace_dir else None
    return Surroundings(folder, save_host_keys, options.ssh_timeout)


def _vim(context: Any, vnf_instance: Any) -> request.VimAccess:
    # The first, whatever the request calls its type: that one Tacker itself takes.
    connections = vnf_instance.vim_connection_info[:1]
    vim_id = connections[0].vim_id if connections else None
    region = (connections[0].access_info or {}).get("region") if connections else None
    vim = vim_client.VimClient().get_vim(context, vim_id, region_name=region)
    return request.vim_access_from_v1(vim)
