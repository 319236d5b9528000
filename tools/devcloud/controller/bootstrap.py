"""Turns a fresh controller container into a running control plane.

Run inside the controller, as root, by ``up``. Every step looks before it acts,
so that a run that was interrupted is simply run again. One line is printed for
each step as it begins.
"""

import fcntl
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests
from keystoneauth1 import session
from keystoneauth1.identity import v3
from keystoneclient.v3.client import Client as Keystone

from tools.devcloud.controller import config_files, services
from tools.devcloud.settings import Settings

_TACKER_USER = "nfv_user"
_TACKER_PROJECT = "nfv"
_ENDPOINTS = {
    "keystone": ("identity", ":5000/v3"),
    "barbican": ("key-manager", ":9311"),
    "glance": ("image", ":9292"),
    "heat": ("orchestration", ":8004/v1/%(tenant_id)s"),
    "tacker": ("nfv-orchestration", ":9890/"),
}


def main() -> None:
    settings = Settings.load()
    steps: list[tuple[str, Callable[[Settings], None]]] = [
        ("configuration", _configure),
        ("databases", _databases),
        ("Keystone", _keystone),
        ("users and endpoints", _catalog),
        ("Barbican", _barbican),
        ("Glance", _glance),
        ("Heat", _heat),
        ("Tacker", _tacker),
        ("default VIM", _default_vim),
    ]
    # An `up` that is interrupted leaves its bootstrap running in here: the next
    # one waits for it, and then finds most of the work done.
    with Path("/run/devcloud-bootstrap.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, step in steps:
            print(name, flush=True)
            step(settings)


def _run(*command: str, stdin: str | None = None) -> None:
    subprocess.run(command, check=True, input=stdin, text=True, stdout=subprocess.DEVNULL)


def _wait(what: str, ready: Callable[[], bool], limit: float = 120.0) -> None:
    deadline = time.monotonic() + limit
    while not ready():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what} is not ready after {limit:.0f} s; see devcloud logs")
        time.sleep(0.2)


def _is_answering(url: str) -> Callable[[], bool]:
    def ready() -> bool:
        try:
            return requests.get(url, timeout=5).status_code < 500
        except requests.RequestException:
            return False

    return ready


def _configure(settings: Settings) -> None:
    config_files.write_all(settings)
    # The database holds nothing that outlives the cloud: do not wait for disks.
    Path("/etc/mysql/mariadb.conf.d/90-devcloud.cnf").write_text(
        "[mysqld]\ninnodb_flush_log_at_trx_commit=0\nsync_binlog=0\nmax_connections=500\n"
    )
    environments = Path("/etc/heat/environment.d")
    environments.mkdir(parents=True, exist_ok=True)
    source = Path("/opt/devcloud/tools/devcloud/heat_plugin/environment.yaml")
    (environments / "devcloud.yaml").write_text(source.read_text())
    _wait("systemd", Path("/run/systemd/private").exists)
    services.install_units()


def _databases(settings: Settings) -> None:
    services.systemctl("start", *services.FROM_DEBIAN)
    statements = []
    for name in config_files.DATABASES:
        statements += [
            f"CREATE DATABASE IF NOT EXISTS {name} CHARACTER SET utf8;",
            f"GRANT ALL ON {name}.* TO '{name}'@'localhost'"
            f" IDENTIFIED BY '{settings.service_password}';",
        ]
    _run("mariadb", stdin="\n".join(statements))


def _keystone(settings: Settings) -> None:
    manage = f"{services.BIN}/keystone-manage"
    _run(manage, "db_sync")
    for setup in ("fernet_setup", "credential_setup"):
        _run(manage, setup, "--keystone-user", "root", "--keystone-group", "root")
    services.systemctl("enable", "--quiet", "--now", services.KEYSTONE.name)
    url = config_files.keystone_url(settings)
    # The password goes through the environment: a command line is for all to see.
    subprocess.run(
        [manage, "bootstrap", "--bootstrap-region-id", config_files.REGION]
        + ["--bootstrap-public-url", url],
        check=True,
        env={"OS_BOOTSTRAP_PASSWORD": settings.admin_password},
    )
    _wait("Keystone", _is_answering(url))


def _session(settings: Settings, user: str, project: str) -> session.Session:
    auth = v3.Password(
        auth_url=config_files.keystone_url(settings),
        username=user,
        password=settings.admin_password,
        project_name=project,
        user_domain_name="Default",
        project_domain_name="Default",
    )
    return session.Session(auth=auth)


def _catalog(settings: Settings) -> None:
    keystone = Keystone(session=_session(settings, "admin", "admin"))
    roles = {name: _ensure(keystone.roles, name) for name in ("admin", "service")}
    for name in ("creator", "heat_stack_owner", "heat_stack_user"):
        roles[name] = _ensure(keystone.roles, name)
    for name, (kind, path) in _ENDPOINTS.items():
        _endpoint(keystone, name, kind, f"http://{settings.address}{path}")
    service = _ensure(keystone.projects, "service", domain="default")
    nfv = _ensure(keystone.projects, _TACKER_PROJECT, domain="default")
    for name in ("barbican", "glance", "heat", "tacker"):
        user = _ensure(
            keystone.users, name, domain="default", password=settings.service_password
        )
        # creator: to keep secrets in Barbican, as Tacker does with those of VIMs.
        for role in ("admin", "service", "creator"):
            keystone.roles.grant(roles[role], user=user, project=service)
    user = _ensure(
        keystone.users, _TACKER_USER, domain="default", password=settings.admin_password
    )
    for role in ("admin", "heat_stack_owner"):
        keystone.roles.grant(roles[role], user=user, project=nfv)
    _heat_domain(keystone, roles["admin"], settings)


def _heat_domain(keystone: Keystone, admin: Any, settings: Settings) -> None:
    """The domain in which Heat keeps the users of its stacks."""
    domain = _ensure(keystone.domains, "heat")
    user = _ensure(
        keystone.users, "heat_domain_admin", domain=domain.id, password=settings.service_password
    )
    keystone.roles.grant(admin, user=user, domain=domain)


def _ensure(manager: Any, name: str, **values: str) -> Any:
    scope = {"domain": values["domain"]} if "domain" in values else {}
    found = [item for item in manager.list(**scope) if item.name == name]
    return found[0] if found else manager.create(name, **values)


def _endpoint(keystone: Keystone, name: str, kind: str, url: str) -> None:
    found = [service for service in keystone.services.list() if service.type == kind]
    service = found[0] if found else keystone.services.create(name, type=kind)
    for interface in ("public", "internal"):
        present = keystone.endpoints.list(service=service, interface=interface)
        if not any(endpoint.url == url for endpoint in present):
            keystone.endpoints.create(service, url, interface, region=config_files.REGION)


def _barbican(settings: Settings) -> None:
    paste = Path("/etc/barbican/barbican-api-paste.ini")
    paste.write_text(Path("/opt/openstack/etc/barbican/barbican-api-paste.ini").read_text())
    services.systemctl("enable", "--quiet", "--now", services.BARBICAN.name)
    _wait("Barbican", _is_answering(f"http://{settings.address}:9311/"))


def _glance(settings: Settings) -> None:
    """Tacker's v2 API asks it for images before it grants an operation."""
    paste = Path("/etc/glance/glance-api-paste.ini")
    paste.write_text(Path("/opt/openstack/etc/glance/glance-api-paste.ini").read_text())
    _run(f"{services.BIN}/glance-manage", "--config-file", "/etc/glance/glance-api.conf", "db_sync")
    services.systemctl("enable", "--quiet", "--now", services.GLANCE.name)
    _wait("Glance", _is_answering(f"http://{settings.address}:9292/"))


def _heat(settings: Settings) -> None:
    _run(f"{services.BIN}/heat-manage", "--config-file", "/etc/heat/heat.conf", "db_sync")
    names = (services.HEAT_API.name, services.HEAT_ENGINE.name)
    services.systemctl("enable", "--quiet", "--now", *names)
    _wait("heat-api", _is_answering(f"http://{settings.address}:8004/"))


def _tacker(settings: Settings) -> None:
    for folder in ("vnfpackages", "csar_files", "coordination"):
        (Path("/var/lib/tacker") / folder).mkdir(parents=True, exist_ok=True)
    manage = f"{services.BIN}/tacker-db-manage"
    _run(manage, "--config-file", "/etc/tacker/tacker.conf", "upgrade", "head")
    names = (services.TACKER_SERVER.name, services.TACKER_CONDUCTOR.name)
    services.systemctl("enable", "--quiet", "--now", *names)
    _wait("tacker-server", _is_answering(f"http://{settings.address}:9890/"))


def _default_vim(settings: Settings) -> None:
    nfv = _session(settings, _TACKER_USER, _TACKER_PROJECT)
    vims = f"http://{settings.address}:9890/v1.0/vims"
    if any(vim["is_default"] for vim in nfv.get(vims).json()["vims"]):
        return
    nfv.post(vims, json={"vim": _vim(settings)})


def _vim(settings: Settings) -> dict[str, Any]:
    return {
        "name": "devcloud",
        "type": "openstack",
        "auth_url": config_files.keystone_url(settings),
        "auth_cred": {
            "username": _TACKER_USER,
            "password": settings.admin_password,
            "user_domain_name": "Default",
            "cert_verify": "False",
        },
        "vim_project": {"name": _TACKER_PROJECT, "project_domain_name": "Default"},
        "is_default": True,
    }



if __name__ == "__main__":
    main()
