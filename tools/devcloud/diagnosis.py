"""Collects logs: journals of the services, traces of the drivers, consoles of the servers."""

import io
import tarfile
from pathlib import Path
from typing import Any

import docker
from keystoneauth1.exceptions import ClientException as KeystoneException
from openstack.exceptions import SDKException

from tools.devcloud import engine, servers
from tools.devcloud.cloud import find_controller, read_settings
from tools.devcloud.controller import services
from tools.devcloud.drivers import CONSOLES
from tools.devcloud.identity import Identity

TRACES = "/var/log/tacker/mgmt_drivers"


def collect(identity: Identity, folder: Path) -> None:
    """Write journals of the services, traces of the drivers and consoles to ``folder``."""
    client = engine.connect()
    controller = find_controller(client, identity)
    if controller is None:
        return
    for service in services.names(monitoring=True):
        _journal(controller, folder / f"{service}.log", f"--unit={service}")
    _copy(controller, TRACES, folder)
    _copy(controller, CONSOLES, folder)
    consoles = folder / Path(CONSOLES).name
    consoles.mkdir(exist_ok=True)
    try:
        for name, text in servers.consoles(read_settings(identity.state / "settings.json")):
            (consoles / f"{name}.log").write_text(text)
    except (SDKException, KeystoneException) as error:  # then the journals say more
        (consoles / "missing.log").write_text(f"Nova does not show the consoles: {error}\n")


def copy_traces(identity: Identity, folder: Path) -> Path:
    """Copy the drivers' traces below a folder; returns the folder they are in."""
    controller = find_controller(engine.connect(), identity)
    if controller is not None:
        folder.mkdir(parents=True, exist_ok=True)
        _copy(controller, TRACES, folder)
    return folder / Path(TRACES).name


def _journal(container: Any, path: Path, *options: str) -> None:
    try:
        path.write_bytes(container.exec_run(["journalctl", "--no-pager", *options]).output)
    except docker.errors.APIError as error:
        path.write_text(f"no journal: {error}\n")


def _copy(controller: Any, source: str, folder: Path) -> None:
    """Copy a folder of the controller, if it is there, into one of this machine."""
    try:
        chunks, _ = controller.get_archive(source)
    except docker.errors.NotFound:
        return
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
        archive.extractall(folder, filter="data")
