"""A cluster as a VIM, which Tacker's v1 API keeps in its registry of VIMs."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from oslo_utils import uuidutils
from tacker import objects
from tacker.db.nfvo.nfvo_db_plugin import NfvoPluginDb
from tacker.extensions.nfvo import VimInUseException
from tacker.nfvo.nfvo_plugin import NfvoPlugin

from mgmt_drivers.cluster.access.service_account import Credentials
from mgmt_drivers.errors import DamagedMetadata, Refused, ServiceFailed
from mgmt_drivers.tacker.v1 import InstanceStore
from mgmt_drivers.vim import STORE_KEY, HelmAccess, Vim, description_of

LOG = logging.getLogger(__name__)

_TYPE = "kubernetes"
_UNAUTHORIZED = "(401)"  # of the Kubernetes client; Tacker passes texts on, not types


class RegisteredVims:
    """The VIMs in Tacker's registry; a :class:`mgmt_drivers.vim.Vims`.

    A VIM is the VNF's own by its id in the store and by its tenant. Anybody may write a description
    of a VIM: it counts only within the tenant, if the id is unknown, since an operation may fail
    before it keeps the id.
    """

    log_in_for_helm = True

    def __init__(self, context: Any, vnf_instance: Any) -> None:
        self._context, self._vnf_instance = context, vnf_instance
        self._store = InstanceStore(vnf_instance)

    def is_taken(self, name: str) -> bool:
        own = [vim["id"] for vim in self._find_own()]
        return any(vim["id"] not in own for vim in self._find(name=name))

    def register(self, vim: Vim) -> None:
        self.unregister()
        if vim.helm:
            LOG.warning(
                "the password of user %s of the control-plane nodes is kept in clear text in the "
                "extra of VIM %s, where Tacker's v1 API needs the password to run Helm: every user "
                "who may show the VIM, or read Tacker's database, can read the password",
                vim.helm.login.username, vim.name,
            )
        with _explained(vim.url):
            created = NfvoPlugin().create_vim(self._context, {"vim": self._as_request(vim)})
        self._store.save(STORE_KEY, created["id"])
        connection = objects.VimConnectionInfo(
            id=uuidutils.generate_uuid(),
            vim_id=created["id"],
            vim_type=_TYPE,
            access_info={"auth_url": vim.url},
            interface_info=None,
        )
        self._set_connections([*self._vnf_instance.vim_connection_info, connection])

    def move_helm(self, access: HelmAccess) -> None:
        """Write to the database: Tacker's plugin refuses to update a VIM that CNFs use."""
        plugin = NfvoPlugin()
        for own in self._find_own():
            vim = NfvoPluginDb.get_vim(plugin, self._context, own["id"], mask_password=False)
            extra = {**(vim["extra"] or {}), **_extra(access)}
            if vim["extra"] != extra:
                changed = {**vim, "extra": extra}
                NfvoPluginDb.update_vim(plugin, self._context, own["id"], changed)

    def renew(self, credentials: Credentials) -> None:
        token = {"bearer_token": credentials.token.reveal(), "ssl_ca_cert": credentials.ca}
        for own in self._find_own():
            with _explained(own["auth_url"]):
                _Plugin().update_vim(self._context, own["id"], {"vim": {"auth_cred": token}})

    def unregister(self) -> None:
        for vim in self._find_own():
            try:
                NfvoPlugin().delete_vim(self._context, vim["id"])
            except VimInUseException as error:
                raise Refused(
                    f"VNF instances use VIM {vim['name']}, which is this cluster: terminate and "
                    "delete these instances first"
                ) from error
        connections = self._vnf_instance.vim_connection_info
        others = [c for c in connections if c.vim_type != _TYPE]
        if len(others) != len(connections):
            self._set_connections(others)

    def _set_connections(self, connections: list[Any]) -> None:
        self._vnf_instance.vim_connection_info = connections
        self._vnf_instance.save()

    def _as_request(self, vim: Vim) -> dict[str, Any]:
        return {
            "name": vim.name,
            "description": description_of(self._vnf_instance.id),
            "type": _TYPE,
            "auth_url": vim.url,
            "auth_cred": {
                "bearer_token": vim.credentials.token.reveal(),
                "ssl_ca_cert": vim.credentials.ca,
            },
            "vim_project": {"name": "default"},
            "is_default": False,
            "tenant_id": self._vnf_instance.tenant_id,
            **({"extra": _extra(vim.helm)} if vim.helm else {}),
        }

    def _find_own(self) -> list[dict[str, Any]]:
        tenant_id, own = self._vnf_instance.tenant_id, description_of(self._vnf_instance.id)
        vims = [vim for vim in self._find(type=_TYPE) if vim["tenant_id"] == tenant_id]
        try:
            own_id = self._store.load(STORE_KEY, None)
        except DamagedMetadata as error:  # which must not keep anybody from terminating the VNF
            LOG.warning("VNF %s: %s", self._vnf_instance.id, error)
            own_id = None
        known = [vim for vim in vims if vim["id"] == own_id]
        return known or [vim for vim in vims if vim["description"] == own]

    def _find(self, **attributes: str) -> list[dict[str, Any]]:
        filters = {key: [value] for key, value in attributes.items()}
        return NfvoPlugin().get_vims(self._context, filters=filters)


class _Plugin(NfvoPlugin):
    """Tacker's plugin, which would refuse to update a VIM that CNFs use."""

    def _get_vim(self, context: Any, vim_id: str) -> Any:
        return self.get_vim(context, vim_id, mask_password=False)


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Say in an error that Tacker asks the cluster itself, with its own Kubernetes client.

    Clients from 36.0 on take a token under another name than the clients before; Tacker's releases
    write the name of the client that is in the upper constraints of the same OpenStack.
    """
    try:
        yield
    except Exception as error:
        reason = str(error)
        if reason.startswith(_UNAUTHORIZED):
            tacker, client = (metadata.version(name) for name in ("tacker", "kubernetes"))
            reason = (
                f"it refuses Tacker's token (401). The Kubernetes client {client} in Tacker's "
                f"environment may not fit Tacker {tacker}: install the one that OpenStack's upper "
                "constraints name for it, restart tacker-conductor, and retry"
            )
        raise ServiceFailed(f"Tacker cannot use the cluster {url} as a VIM: {reason}") from error


def _extra(access: HelmAccess) -> dict[str, Any]:
    """The extra data of a VIM that accepts charts, in the form of Tacker's v1 API.

    ``helm_info`` is for CNFs of the v1 API (tacker.vnfm.infra_drivers.kubernetes). ``use_helm``
    gives the VIM the type ETSINFV.HELM.V_3 for CNFs of the v2 API
    (tacker.sol_refactored.common.vim_utils).
    """
    login = access.login
    info = {
        "masternode_ip": list(access.addresses),
        "masternode_username": login.username,
        "masternode_password": login.password.reveal() if login.password else "",
    }
    return {"use_helm": True, "helm_info": info}
