"""Turns a fresh controller container into a running control plane.

Run inside the controller, as root, by ``up``. Every step looks before it acts,
so that a run that was interrupted is simply run again. One line is printed for
each step as it begins.
"""

import fcntl
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import docker
import requests

from tools.devcloud import recipes
from tools.devcloud.controller import catalog, config_files, open_vswitch, resources, services
from tools.devcloud.controller.image_files import file_of_image
from tools.devcloud.settings import Settings

_PATIENCE = 240.0  # seconds, for one service on a machine under load


def main() -> None:
    settings = Settings.load()
    steps: list[tuple[str, Callable[[Settings], None]]] = [
        ("configuration", _configure),
        ("databases, queues and networks", _foundations),
        ("Keystone", _keystone),
        ("services", _services),
        ("Nova's compute hosts", _compute_hosts),
        ("networks, images and flavors", resources.ensure),
        ("default VIM", resources.ensure_default_vim),
        ("Cinder's backend", _volume_backend),
    ]
    # An `up` that is interrupted leaves its bootstrap running in here: the next
    # one waits for it, and then finds most of the work done.
    with Path("/run/devcloud-bootstrap.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name, step in steps:
            print(name, flush=True)
            step(settings)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _wait(what: str, ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not ready():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what} is not ready after {_PATIENCE:.0f} s; see devcloud logs")
        time.sleep(0.2)


def _is_answering(url: str) -> Callable[[], bool]:
    def ready() -> bool:
        try:
            return requests.get(url, timeout=5).status_code < 500
        except requests.RequestException:
            return False

    return ready


def _configure(settings: Settings) -> None:
    config_files.write_all(settings, _virt_type())
    # libvirt runs QEMU as root without confinement: it is in a container already.
    Path("/etc/libvirt/qemu.conf").write_text(
        'user = "root"\ngroup = "root"\nsecurity_driver = "none"\nnamespaces = []\n'
        'cgroup_controllers = []\nstdio_handler = "file"\nremember_owner = 0\n'
    )
    # It asks the port mapper at its node's name. The controller's name has no address while br-ex
    # takes eth0's over, which happens while RabbitMQ starts.
    Path("/etc/rabbitmq/rabbitmq-env.conf").write_text("NODENAME=rabbit@localhost\n")
    Path("/etc/libvirt/libvirtd.conf").write_text('auth_unix_rw = "none"\n')
    for folder in ("vnfpackages", "csar_files", "coordination"):
        (Path("/var/lib/tacker") / folder).mkdir(parents=True, exist_ok=True)
    _wait("systemd", Path("/run/systemd/private").exists)
    services.install_units()


def _virt_type() -> str:
    """How QEMU runs machines here: kvm, or qemu where the machine has none that works.

    Some machines have a /dev/kvm on which a kernel does not run. Where it does, one without a
    root file system panics, and so ends the probe, within a second.
    """
    _device("/dev/kvm", 10, 232)
    try:
        Path("/dev/kvm").open("r+b").close()
    except OSError:
        return "qemu"
    client = docker.from_env(timeout=300)
    with (
        file_of_image(client, recipes.VM.tag, "/vm/vmlinuz") as source,
        tempfile.NamedTemporaryFile() as kernel,
    ):
        shutil.copyfileobj(source, kernel)
        kernel.flush()
        probe = ["qemu-system-x86_64", "-nographic", "-no-reboot", "-m", "256"]
        probe += ["-machine", "q35,accel=kvm", "-cpu", "max", "-kernel", kernel.name]
        probe += ["-append", "console=ttyS0 quiet panic=-1"]
        try:
            done = subprocess.run(probe, timeout=5, capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            return "qemu"
    return "qemu" if done.returncode else "kvm"


def _device(path: str, major: int, minor: int) -> None:
    """Make a character device's node, if the machine lets us."""
    Path(path).parent.mkdir(exist_ok=True)
    if not Path(path).exists():
        subprocess.run(["mknod", path, "c", str(major), str(minor)], check=False)


def _foundations(settings: Settings) -> None:
    _device("/dev/net/tun", 10, 200)
    services.systemctl("start", "--no-block", *services.FROM_DEBIAN)
    open_vswitch.ensure(settings)
    services.start(services.LIBVIRT)
    services.systemctl("start", *services.FROM_DEBIAN)


def _keystone(settings: Settings) -> None:
    manage = f"{services.BIN}/keystone-manage"
    for setup in ("fernet_setup", "credential_setup"):
        _run(manage, setup, "--keystone-user", "root", "--keystone-group", "root")
    services.start(services.KEYSTONE)
    url = config_files.keystone_url(settings)
    # The password goes through the environment: a command line is for all to see.
    subprocess.run(
        [manage, "bootstrap", "--bootstrap-region-id", config_files.REGION]
        + ["--bootstrap-public-url", url.removesuffix("/v3")],
        check=True,
        env={"OS_BOOTSTRAP_PASSWORD": settings.admin_password},
    )
    _wait("Keystone", _is_answering(url))
    catalog.ensure(settings)


def _services(settings: Settings) -> None:
    monitors = services.MONITORS if settings.monitoring else ()
    services.start(*services.APIS, *services.WORKERS, services.NOVA, *monitors)
    for port, name in catalog.PORTS.items():
        _wait(name, _is_answering(f"http://{settings.address}:{port}/"))


def _compute_hosts(settings: Settings) -> None:
    wanted = len(config_files.CONTAINER_HOSTS) + 1
    _wait("a compute host", lambda: resources.count_hypervisors(settings) == wanted)


def _volume_backend(settings: Settings) -> None:
    _wait("Cinder's backend", lambda: resources.has_volume_backend(settings))


if __name__ == "__main__":
    main()
