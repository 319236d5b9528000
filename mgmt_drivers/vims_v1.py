"""A cluster as a VIM of Tacker's, which its v1 API keeps in a registry of its own."""

from typing import Any

from oslo_utils import uuidutils
from tacker import objects
from tacker.extensions.nfvo import VimInUseException
from tacker.nfvo.nfvo_plugin import NfvoPlugin

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.kubernetes import Vim

_TYPE = "kubernetes"


def is_taken(context: Any, vnf_instance: Any, name: str) -> bool:
    """Whether there is a VIM of that name which is not this VNF's."""
    own = _description(vnf_instance)
    return any(vim["description"] != own for vim in _vims(context, name=name))


def register(context: Any, vnf_instance: Any, vim: Vim) -> None:
    """Register a cluster, also in the instance, in the place of one that was before."""
    unregister(context, vnf_instance)
    created = NfvoPlugin().create_vim(context, {"vim": _as_tacker_wants_it(vnf_instance, vim)})
    connection = objects.VimConnectionInfo(
        id=uuidutils.generate_uuid(),
        vim_id=created["id"],
        vim_type=_TYPE,
        access_info={"auth_url": vim.account.url},
        interface_info=None,
    )
    vnf_instance.vim_connection_info = [*vnf_instance.vim_connection_info, connection]
    vnf_instance.save()


def unregister(context: Any, vnf_instance: Any) -> None:
    """Remove the VIM of this VNF and its entries in the instance, as far as they are there."""
    for vim in _vims(context, description=_description(vnf_instance)):
        try:
            NfvoPlugin().delete_vim(context, vim["id"])
        except VimInUseException as error:
            raise MgmtDriverError(
                f"VNF instances use VIM {vim['name']}, which is this cluster: terminate and delete "
                "them first"
            ) from error
    kept = [c for c in vnf_instance.vim_connection_info if c.vim_type != _TYPE]
    if len(kept) != len(vnf_instance.vim_connection_info):
        vnf_instance.vim_connection_info = kept
        vnf_instance.save()


def _as_tacker_wants_it(vnf_instance: Any, vim: Vim) -> dict[str, Any]:
    return {
        "name": vim.name,
        "description": _description(vnf_instance),
        "type": _TYPE,
        "auth_url": vim.account.url,
        "auth_cred": {
            "bearer_token": vim.account.token.reveal(),
            "ssl_ca_cert": vim.account.ca,
        },
        "vim_project": {"name": "default"},
        "is_default": False,
        "tenant_id": vnf_instance.tenant_id,
    }


def _description(vnf_instance: Any) -> str:
    """By which a VIM is known as this VNF's, whatever an operation that failed has lost."""
    return f"Kubernetes cluster of VNF instance {vnf_instance.id}"


def _vims(context: Any, **wanted: str) -> list[dict[str, Any]]:
    filters = {key: [value] for key, value in wanted.items()}
    found: list[dict[str, Any]] = NfvoPlugin().get_vims(context, filters=filters)
    return found
