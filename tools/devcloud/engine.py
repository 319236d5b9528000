"""The Docker engine on this machine, which is started if it does not run."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import docker
from docker.errors import DockerException

from tools import locks
from tools.devcloud.errors import CloudError
from tools.devcloud.identity import LABEL
from tools.progress import Progress

# Shared by all checkouts: the engine and the images are the machine's.
_RUN = Path("/run/devcloud")
_PID = _RUN / "dockerd.pid"
_LOG = _RUN / "dockerd.log"
_START_LIMIT = 60.0  # seconds


@contextlib.contextmanager
def machine_lock(progress: Progress) -> Iterator[None]:
    """Lock the engine and the images, which only one command on the machine may change."""
    _RUN.mkdir(parents=True, exist_ok=True)
    with (_RUN / "lock").open("w") as file:
        locks.acquire(file, "another checkout's devcloud changes engine or images", progress)
        yield


def connect() -> docker.DockerClient:
    """Client of the running engine; raises CloudError when there is none."""
    try:
        client = docker.from_env(timeout=600)
        client.ping()
    except DockerException as error:
        raise CloudError(
            "no Docker engine answers; `python3 tools/run demo` installs one, "
            f"`k8s-vnf cloud up` starts it ({error})"
        ) from error
    return client


def ensure_running(progress: Progress) -> docker.DockerClient:
    """Client of the engine, which is started if it does not run."""
    with contextlib.suppress(CloudError):
        return connect()
    if not shutil.which("dockerd"):
        raise CloudError("Docker is not installed: apt-get install docker.io, then try again")
    with progress.step("starting the Docker engine"):
        if Path("/run/systemd/system").is_dir():
            subprocess.run(["systemctl", "start", "docker"], check=True)
        else:
            _start_without_systemd()
        return _wait_for_engine()


def _start_without_systemd() -> None:
    # An engine that was killed leaves these behind and then refuses to start.
    for stale in ("/var/run/docker.pid", "/run/docker/containerd/containerd.pid"):
        path = Path(stale)
        if path.exists() and not _is_engine(path):
            path.unlink()
    with _LOG.open("ab") as log:
        process = subprocess.Popen(
            ["dockerd"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    _PID.write_text(f"{process.pid}\n")


def _wait_for_engine() -> docker.DockerClient:
    deadline = time.monotonic() + _START_LIMIT
    while True:
        try:
            return connect()
        except CloudError as error:
            if time.monotonic() > deadline:
                raise CloudError(
                    f"the Docker engine did not start in {_START_LIMIT:.0f} s; see {_LOG}"
                ) from error
        time.sleep(0.2)


def any_cloud_exists(client: docker.DockerClient) -> bool:
    """Whether any checkout's cloud has containers or a network, which `up` makes first."""
    ours = {"label": LABEL}
    containers = client.containers.list(all=True, filters=ours, ignore_removed=True)
    return bool(containers or client.networks.list(filters=ours))


def _is_engine(pid_file: Path) -> bool:
    """Whether the process of a PID file is an engine, and not a later process with that PID."""
    name = Path(f"/proc/{pid_file.read_text().strip()}/comm")
    return name.exists() and name.read_text().strip() in ("dockerd", "containerd")


def stop_if_started_by_up(client: docker.DockerClient, progress: Progress) -> None:
    """Stop the engine if ``up`` started it, and no cloud and no other container is left on it."""
    if not _PID.exists() or any_cloud_exists(client):
        return
    if not _is_engine(_PID):  # the machine was rebooted, or the engine has crashed
        _PID.unlink()
        return
    pid = int(_PID.read_text())
    if client.containers.list():
        progress.say("the Docker engine keeps running: it has other containers")
        return
    client.close()
    with progress.step("stopping the Docker engine that `up` had started"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
            _wait_for_end(pid)
        for leftover in (_PID, _LOG):
            leftover.unlink(missing_ok=True)


def _wait_for_end(pid: int) -> None:
    deadline = time.monotonic() + _START_LIMIT
    while _alive(pid):
        if time.monotonic() > deadline:
            raise CloudError(f"the Docker engine (process {pid}) does not end; see {_LOG}")
        time.sleep(0.2)


def _alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
