"""Gathers what explains a failure: journals of the services and the drivers' traces."""

import io
import tarfile
from pathlib import Path
from typing import Any

import docker

from tools.devcloud import engine
from tools.devcloud.cloud import find_controller
from tools.devcloud.controller import services
from tools.devcloud.identity import Identity

_TRACES = "/var/log/tacker/mgmt_drivers"


def collect(identity: Identity, folder: Path) -> None:
    """Write the services' journals and the drivers' traces to ``folder``."""
    client = engine.connect()
    controller = find_controller(client, identity)
    if controller is None:
        return
    for service in (*(s.name for s in services.ALL), *services.FROM_DEBIAN):
        _journal(controller, folder / f"{service}.log", f"--unit={service}")
    _traces(controller, folder)


def traces(identity: Identity, folder: Path) -> Path:
    """Write the drivers' traces below a folder; returns where they lie."""
    controller = find_controller(engine.connect(), identity)
    if controller is not None:
        folder.mkdir(parents=True, exist_ok=True)
        _traces(controller, folder)
    return folder / Path(_TRACES).name


def _journal(container: Any, path: Path, *options: str) -> None:
    try:
        path.write_bytes(container.exec_run(["journalctl", "--no-pager", *options]).output)
    except docker.errors.APIError as error:
        path.write_text(f"no journal: {error}\n")


def _traces(controller: Any, folder: Path) -> None:
    try:
        chunks, _ = controller.get_archive(_TRACES)
    except docker.errors.NotFound:
        return
    with tarfile.open(fileobj=io.BytesIO(b"".join(chunks))) as archive:
        archive.extractall(folder, filter="data")
