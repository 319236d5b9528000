"""WSGI applications for waitress; each is made when it is first asked for."""

import pkgutil
import sys
from typing import Any

_FACTORIES = {
    "keystone": "keystone.server.wsgi:initialize_public_application",
    "barbican": "barbican.api.app:get_api_wsgi_script",
    "glance": "glance.common.wsgi_app:init_app",
    "heat": "heat.api.openstack.wsgi:init_application",
}
_APPLICATIONS = {  # made by the import of their modules
    "placement": "placement.wsgi.api:application",
    "nova": "nova.wsgi.osapi_compute:application",
    "neutron": "neutron.wsgi.api:application",
    "cinder": "cinder.wsgi.api:application",
}


def __getattr__(name: str) -> Any:
    if name not in _FACTORIES | _APPLICATIONS:
        raise AttributeError(name)
    sys.argv = [name]  # oslo.config parses it; what stands there is waitress's
    if name in _APPLICATIONS:
        return pkgutil.resolve_name(_APPLICATIONS[name])
    return pkgutil.resolve_name(_FACTORIES[name])()
