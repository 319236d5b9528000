"""Finds a VNF instance in Tacker, whichever version of the API has made it."""

from openstack.connection import Connection

from tools.client.api import V1, V2, Api
from tools.client.config import tacker
from tools.client.errors import ClientError
from tools.client.lcm import Vnf

_APIS: tuple[Api, ...] = (V1(), V2())


def find(connection: Connection, name: str, version: str | None = None) -> Vnf:
    """The instance with an id or a name. Each instance is in one version of the API only.

    :param version: of the API; without it both are asked
    :raises ClientError: if there is none, or more than one
    """
    asked = [api for api in _APIS if version in (None, api.version)]
    found = [
        vnf
        for api in asked
        for vnf in Vnf.all(tacker(connection, api.version), api)
        if name in (vnf.id, vnf.name)
    ]
    if len(found) != 1:
        versions = " and ".join(f"v{api.version}" for api in asked)
        ids = f": {', '.join(vnf.id for vnf in found)}" if found else ""
        raise ClientError(f"Tacker's {versions} API has {len(found)} VNF instances {name}{ids}")
    return found[0]
