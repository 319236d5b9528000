"""WSGI applications for waitress; each is made when it is first asked for."""

import sys
from typing import Any


def _keystone() -> Any:
    from keystone.server import wsgi

    return wsgi.initialize_public_application()


def _barbican() -> Any:
    from barbican.api import app

    return app.get_api_wsgi_script()


def _glance() -> Any:
    from glance.common import wsgi_app

    return wsgi_app.init_app()


def _heat() -> Any:
    from heat.api.openstack import wsgi

    return wsgi.init_application()


def _placement() -> Any:
    from placement.wsgi import api

    return api.application


def _nova() -> Any:
    from nova.wsgi import osapi_compute

    return osapi_compute.application


def _neutron() -> Any:
    from neutron.wsgi import api

    return api.application


def _cinder() -> Any:
    from cinder.wsgi import api

    return api.application


_FACTORIES = {
    "keystone": _keystone,
    "barbican": _barbican,
    "glance": _glance,
    "heat": _heat,
    "placement": _placement,
    "nova": _nova,
    "neutron": _neutron,
    "cinder": _cinder,
}


def __getattr__(name: str) -> Any:
    if name not in _FACTORIES:
        raise AttributeError(name)
    sys.argv = [name]  # oslo.config parses it; what stands there is waitress's
    return _FACTORIES[name]()
