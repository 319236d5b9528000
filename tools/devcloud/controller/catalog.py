"""What is in Keystone: users, roles, projects and the endpoints of the services."""

from typing import Any

from keystoneauth1 import session
from keystoneauth1.identity import v3
from keystoneclient.v3.client import Client as Keystone

from tools.devcloud.controller.config_files import (
    REGION,
    SERVICE_PROJECT,
    SERVICE_USER,
    keystone_url,
)
from tools.devcloud.settings import Settings

USER = "nfv_user"
PROJECT = "nfv"
TACKER_PORT = 9890
# Name and type of each service, its port and the rest of its URL. That of Keystone has no version,
# as on a devstack: Tacker 15 would ask for /v3/v3/regions before it registers a VIM.
_SERVICES = (
    ("keystone", "identity", 5000, ""),
    ("barbican", "key-manager", 9311, ""),
    ("placement", "placement", 8778, ""),
    ("glance", "image", 9292, ""),
    ("neutron", "network", 9696, ""),
    ("nova", "compute", 8774, "/v2.1"),
    ("cinder", "block-storage", 8776, "/v3"),
    ("cinderv3", "volumev3", 8776, "/v3/%(project_id)s"),
    ("heat", "orchestration", 8004, "/v1/%(tenant_id)s"),
    ("tacker", "nfv-orchestration", TACKER_PORT, "/"),
)
PORTS = {port: name for name, _, port, _ in reversed(_SERVICES)}
# creator: to keep secrets in Barbican, as Tacker does with those of VIMs.
_ROLES = ("admin", "service", "creator", "heat_stack_owner", "heat_stack_user", "member")


def log_in(settings: Settings, user: str, project: str) -> session.Session:
    """A session as admin or as the user of the project."""
    auth = v3.Password(
        auth_url=keystone_url(settings),
        username=user,
        password=settings.admin_password,
        project_name=project,
        user_domain_name="Default",
        project_domain_name="Default",
    )
    return session.Session(auth=auth)


def ensure(settings: Settings) -> None:
    keystone = Keystone(session=log_in(settings, "admin", "admin"))
    roles = {name: _ensure(keystone.roles, name) for name in _ROLES}
    _endpoints(keystone, f"http://{settings.address}")
    service = _ensure(keystone.projects, SERVICE_PROJECT, domain="default")
    password = settings.service_password
    services = _ensure(keystone.users, SERVICE_USER, domain="default", password=password)
    for role in ("admin", "service", "creator"):
        keystone.roles.grant(roles[role], user=services, project=service)
    nfv = _ensure(keystone.projects, PROJECT, domain="default")
    user = _ensure(keystone.users, USER, domain="default", password=settings.admin_password)
    for role in ("admin", "member", "heat_stack_owner"):
        keystone.roles.grant(roles[role], user=user, project=nfv)
    # The domain in which Heat keeps the users of its stacks.
    domain = _ensure(keystone.domains, "heat")
    heat = _ensure(keystone.users, "heat_domain_admin", domain=domain.id, password=password)
    keystone.roles.grant(roles["admin"], user=heat, domain=domain)


def _ensure(manager: Any, name: str, **values: str) -> Any:
    scope = {"domain": values["domain"]} if "domain" in values else {}
    found = [item for item in manager.list(**scope) if item.name == name]
    return found[0] if found else manager.create(name, **values)


def _endpoints(keystone: Keystone, host: str) -> None:
    present = {service.type: service for service in keystone.services.list()}
    urls = {(endpoint.interface, endpoint.url) for endpoint in keystone.endpoints.list()}
    for name, kind, port, path in _SERVICES:
        service = present.get(kind) or keystone.services.create(name, type=kind)
        url = f"{host}:{port}{path}"
        for interface in ("public", "internal"):
            if (interface, url) not in urls:
                keystone.endpoints.create(service, url, interface, region=REGION)
