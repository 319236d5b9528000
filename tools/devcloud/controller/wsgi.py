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


_FACTORIES = {"keystone": _keystone, "barbican": _barbican, "glance": _glance, "heat": _heat}


def __getattr__(name: str) -> Any:
    if name not in _FACTORIES:
        raise AttributeError(name)
    sys.argv = [name]  # oslo.config parses it; what stands there is waitress's
    return _FACTORIES[name]()
