"""The default VIM in Tacker, and the file that registers the cloud as a VIM."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from openstack.connection import Connection
from tackerclient.v1_0.client import Client

from tools.client.config import CONFIG
from tools.preflight.missing import Missing, openstack

_NAME = "VIM0"
USABLE = ("ACTIVE", "REACHABLE")  # in newer and in older releases of Tacker


def missing(connection: Connection, tacker: Client) -> list[Missing]:
    """Tacker's v1 API deploys only on a VIM of the project that asks."""
    file = str(CONFIG.build / "vim.yaml")
    register = (
        ("python", "-m", "tools.preflight", "--vim", file),
        openstack("vim", "register", "--is-default", "--config-file", file, _NAME),
    )
    found = next((vim for vim in tacker.list_vims()["vims"] if vim["is_default"]), None)
    if found is None:
        return [Missing("Tacker has no default VIM", register)]
    project = connection.current_project
    if (found["tenant_id"], found["vim_project"]["name"]) != (project.id, project.name):
        free = openstack("vim", "set", "--is-default", "False", found["id"])
        what = f"the default VIM, {found['name']}, is not of the project {project.name}"
        return [Missing(what, (free, *register))]
    return [] if found["status"] in USABLE else [unusable(found, "default ")]


def unusable(vim: Mapping[str, Any], kind: str = "") -> Missing:
    hint = "Tacker's log says why; after a change, register the VIM again."
    return Missing(f"the {kind}VIM, {vim['name']}, is {vim['status']}", hint=hint)


def write_config(connection: Connection, path: Path) -> None:
    """Write for `openstack vim register` the login that this command uses itself."""
    auth = connection.config.get_auth_args()
    config = {
        key: auth[key] for key in ("auth_url", "username", "password", "project_name")
    }
    for key in ("user_domain_name", "project_domain_name"):
        config[key] = auth.get(key) or "Default"
    config["cert_verify"] = str(bool(connection.config.get_requests_verify_args()[0]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config))
