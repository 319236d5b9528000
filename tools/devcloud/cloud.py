"""Brings the embedded cloud of a checkout up, and takes it down."""

import contextlib
import hashlib
import io
import os
import secrets
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker

from tools import locks
from tools.devcloud import archives, engine, images, limits, machine, networks, recipes
from tools.devcloud.controller.config_files import QEMU_HOST
from tools.devcloud.errors import CloudError
from tools.devcloud.identity import LABEL, Identity
from tools.devcloud.settings import CONTAINER_PATH, MONITORING_PATH, Network, Settings
from tools.progress import Progress, Step

_PYTHON = "/opt/openstack/bin/python"
_SOURCE = "/opt/tacker-mgmt-drivers"  # the checkout's driver package, in the controller

# Files in the state folder that mark the completed steps of the present controller.
_BOOTSTRAPPED = "bootstrapped"
_DRIVERS = "drivers"
_REMOVE = "`k8s-vnf cloud down` removes it, then try again"


class Cloud:
    """The embedded cloud of one checkout."""

    def __init__(self, identity: Identity, progress: Progress) -> None:
        self.identity = identity
        self.progress = progress

    def up(
        self,
        oldest: str = recipes.NEWEST,
        release: str | None = None,
        monitoring: bool = False,
    ) -> Settings:
        """Bring the cloud up, or what is missing of it; safe to run again.

        The mirror has the series of Kubernetes from ``oldest`` on, the services are of
        ``release``, by default of that of the cloud that is there, or of the newest. A new cloud
        has Prometheus with ``monitoring`` only; a cloud that is there keeps what it has.
        Raises CloudError with what to do next. Only one `up` or `down` of a
        checkout runs at a time.
        """
        with self._locked():
            release, monitoring = self._release(release), self._monitoring(monitoring)
            with engine.machine_lock(self.progress):
                limits.raise_inotify_limit(self.progress)
                client = engine.ensure_running(self.progress)
                images.ensure(
                    client, self.identity, self.progress, release, oldest, monitoring
                )
                found = networks.ensure(client, self.identity, recipes.FOUNDATIONS.tag)
            settings = self._settings(client, found, release, monitoring)
            self._ensure_controller(client, settings)
            self._ensure_mirror(client, settings.network, oldest)
            self._install_drivers(client)
            self._bootstrap(client)
            return settings

    def down(self, everything: bool = False) -> None:
        """Remove the cloud's containers, networks, volumes and files.

        With ``everything`` the caches too, except images that another checkout's
        cloud is using, and the cache folder where there is such a cloud.
        """
        with self._locked():
            try:
                client = engine.connect()
            except CloudError:
                if not self.identity.state.joinpath("settings.json").exists():
                    self._remove_files()
                    if everything:
                        self._remove_cache()
                    return
                with engine.machine_lock(self.progress):
                    client = engine.ensure_running(self.progress)
            self._remove_containers(client)
            networks.remove(client, self.identity)
            with engine.machine_lock(self.progress):
                images.remove_build_containers(client)
                if everything:
                    images.remove(client, self.progress)
                    if engine.any_cloud_exists(client):
                        self.progress.say(f"{self.identity.cache} stays: another cloud is up")
                    else:
                        self._remove_cache()
                engine.stop_if_started_by_up(client, self.progress)
            self._remove_files()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        path = self.identity.state / "lock"
        while True:
            self.identity.state.mkdir(parents=True, exist_ok=True)
            with path.open("w") as file:
                locks.acquire(file, "another devcloud command works on this cloud", self.progress)
                # A `down` that held the lock has removed the file.
                if path.exists() and path.samefile(f"/proc/self/fd/{file.fileno()}"):
                    yield
                    return

    def _remove_containers(self, client: docker.DockerClient) -> None:
        # The controller first: services in it create and delete other containers.
        controller = find_controller(client, self.identity)
        if controller:
            machine.remove(controller)
        label = f"{LABEL}={self.identity.name}"
        found = client.containers.list(all=True, filters={"label": label}, ignore_removed=True)
        if found:
            with self.progress.step(f"removing {len(found)} containers"):
                for container in found:
                    machine.remove(container)
        for volume in client.volumes.list(filters={"label": label}):
            volume.remove(force=True)

    def _remove_files(self) -> None:
        shutil.rmtree(self.identity.state, ignore_errors=True)
        with contextlib.suppress(OSError):  # another checkout's cloud has its files there
            self.identity.state.parent.rmdir()

    def _remove_cache(self) -> None:
        shutil.rmtree(self.identity.cache, ignore_errors=True)

    def _release(self, wanted: str | None) -> str:
        """The release of the existing cloud, or of a new one.

        :raises CloudError: if the existing cloud is of another release than the wanted one
        """
        existing = self._existing()
        if existing is None:
            return wanted or recipes.RELEASES[0]
        if wanted not in (None, existing.release):
            raise CloudError(
                f"this checkout's cloud is of OpenStack {existing.release}, not {wanted}; {_REMOVE}"
            )
        return existing.release

    def _monitoring(self, wanted: bool) -> bool:
        """Whether the existing cloud, or a new one, has monitoring.

        :raises CloudError: if the existing cloud lacks the monitoring that is wanted
        """
        existing = self._existing()
        if existing is None:
            return wanted
        if wanted and not existing.monitoring:
            raise CloudError(f"this checkout's cloud has no monitoring; {_REMOVE}")
        return bool(existing.monitoring)

    def _existing(self) -> Settings | None:
        path = self.identity.state / "settings.json"
        return read_settings(path) if path.exists() else None

    def _settings(
        self, client: docker.DockerClient, found: Network, release: str, monitoring: bool
    ) -> Settings:
        """The settings of the existing cloud, or new ones for a new cloud."""
        existing = self._existing()
        if existing is not None:
            if existing.network == found:
                return existing
            # The network is new: no container that still runs is on it.
            self._remove_containers(client)
        settings = Settings(
            name=self.identity.name,
            release=release,
            address=networks.controller_address(found),
            admin_password=secrets.token_hex(16),
            service_password=secrets.token_hex(16),
            network=found,
            drop_capabilities=machine.capabilities_to_drop(client, recipes.BASE.tag),
            nameservers=networks.host_nameservers(),
            monitoring=str(self.identity.monitoring) if monitoring else "",
        )
        _write_private(self.identity.state / "settings.json", settings.to_json())
        return settings

    def _ensure_controller(self, client: docker.DockerClient, settings: Settings) -> None:
        container = find_controller(client, self.identity)
        if container is not None and container.status == "running":
            return
        with self.progress.step("starting the controller"):
            # A new controller has no servers in its databases, and a stopped one has lost
            # /run: a new cloud is cheaper than a repair of that state.
            self._remove_containers(client)
            for marker in (_BOOTSTRAPPED, _DRIVERS):
                (self.identity.state / marker).unlink(missing_ok=True)
            client.api.start(machine.create(client, self._controller(settings)))

    def _ensure_mirror(
        self, client: docker.DockerClient, network: Network, oldest: str
    ) -> None:
        series = list(recipes.MIRRORS)
        suitable = {recipes.MIRRORS[name].tag for name in series[series.index(oldest) :]}
        found = client.containers.list(all=True, filters={"name": f"^{self.identity.mirror}$"})
        for container in found:
            if container.status == "running" and suitable & set(container.image.tags):
                return
            container.remove(force=True)
        address = networks.mirror_address(network)
        endpoint = client.api.create_endpoint_config(ipv4_address=address)
        client.containers.run(
            recipes.MIRRORS[oldest].tag,
            name=self.identity.mirror,
            labels=self.identity.labels,
            network=network.docker_name,
            networking_config={network.docker_name: endpoint},
            detach=True,
            init=True,
        )

    def _controller(self, settings: Settings) -> machine.Machine:
        tools = Path(__file__).resolve().parents[1]
        return machine.Machine(
            name=self.identity.controller,
            hostname="controller",
            image=recipes.controller(settings.release, bool(settings.monitoring)).tag,
            labels=self.identity.labels,
            network=settings.network.docker_name,
            address=networks.controller_address(settings.network),
            binds=(
                f"{tools}:/opt/devcloud/tools:ro",
                # In which the network namespaces of the servers are.
                "/proc:/hostproc",
                f"{_engine_socket()}:/var/run/docker.sock",
                *_monitoring_bind(settings),
            ),
            disks=("/var/lib/cinder", "/var/lib/glance", f"/var/lib/nova-{QEMU_HOST}"),
            # All services, and all emulated machines, for which others wait when they boot.
            cpu_shares=4096,
            drop_capabilities=settings.drop_capabilities,
            archive=archives.tar({str(CONTAINER_PATH): settings.to_json().encode()}),
        )

    def _bootstrap(self, client: docker.DockerClient) -> None:
        marker = self.identity.state / _BOOTSTRAPPED
        # Glance names the images of servers: `up` may have built them anew.
        tags = " ".join(recipe.tag for recipe in recipes.OF_SERVERS)
        if marker.exists() and marker.read_text() == tags:
            return
        with self.progress.step("starting the control plane") as step:
            self._execute(client, [_PYTHON, "-m", "tools.devcloud.controller.bootstrap"], step)
        marker.write_text(tags)

    def _install_drivers(self, client: docker.DockerClient) -> None:
        """Install this checkout's drivers into Tacker's environment, if they changed."""
        archive, digest = _driver_source(self.identity.checkout)
        marker = self.identity.state / _DRIVERS
        if marker.exists() and marker.read_text() == digest:
            return
        with self.progress.step("installing the management drivers into Tacker"):
            container = find_controller(client, self.identity)
            self._execute(client, ["rm", "-rf", _SOURCE])
            container.put_archive("/opt", archive)
            # Without an index this proves each time that the drivers need nothing that
            # Tacker does not bring.
            self._execute(
                client,
                [_PYTHON, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation"]
                + ["--root-user-action=ignore", "--upgrade", "--force-reinstall", "--no-deps"]
                + [_SOURCE],
            )
            self._execute(client, [_PYTHON, "-m", "pip", "check"])
            if (self.identity.state / _BOOTSTRAPPED).exists():
                self._execute(client, ["systemctl", "restart", "tacker-conductor"])
        marker.write_text(digest)

    def _execute(
        self, client: docker.DockerClient, command: list[str], shown: Step | None = None
    ) -> None:
        """Run a command in the controller; its stdout is progress of the step ``shown``."""
        container = find_controller(client, self.identity)
        run = client.api.exec_create(
            container.id, command, environment={"PYTHONPATH": "/opt/devcloud"}
        )
        output = []
        for stdout, stderr in client.api.exec_start(run["Id"], stream=True, demux=True):
            output.append((stdout or stderr).decode(errors="replace"))
            if shown and stdout:
                for line in stdout.decode().splitlines():
                    shown.say(line)
        status = client.api.exec_inspect(run["Id"])["ExitCode"]
        if status:
            tail = "".join(output)[-3000:]
            raise CloudError(
                f"{' '.join(command)} failed in the controller ({status}):\n{tail}\n"
                "`devcloud logs` shows the services; `devcloud up` continues from here"
            )


def find_controller(client: docker.DockerClient, identity: Identity) -> Any:
    """The controller's container, or None."""
    try:
        return client.containers.get(identity.controller)
    except docker.errors.NotFound:
        return None


def read_settings(path: Path) -> Settings:
    """Settings of a cloud.

    :raises CloudError: when they were not written by this version
    """
    try:
        return Settings.from_json(path.read_text())
    except (ValueError, KeyError, TypeError) as error:
        raise CloudError(
            f"{path} is of another version; `k8s-vnf cloud down` removes it"
        ) from error


def _monitoring_bind(settings: Settings) -> tuple[str, ...]:
    """The folder, which Docker makes, so that Prometheus sees the host change its files."""
    return (f"{settings.monitoring}:{MONITORING_PATH}:ro",) if settings.monitoring else ()


def _engine_socket() -> str:
    host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if not host.startswith("unix://"):
        raise CloudError(f"DOCKER_HOST is {host}: the embedded cloud needs a local engine")
    return host.removeprefix("unix://")


def _write_private(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)
    part.write_text(text)
    part.replace(path)


def _driver_source(checkout: Path) -> tuple[bytes, str]:
    """The installable part of the checkout as a tar archive, and its digest."""
    tree = sorted((checkout / "mgmt_drivers").rglob("*"))
    files = [checkout / "pyproject.toml", checkout / "README.rst"]
    files += [path for path in tree if path.is_file() and "__pycache__" not in path.parts]
    sha = hashlib.sha256()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path in files:
            name = path.relative_to(checkout)
            sha.update(str(name).encode() + b"\0" + path.read_bytes())
            tar.add(path, arcname=Path(_SOURCE).name / name)
    return buffer.getvalue(), sha.hexdigest()
