"""The private registry: the driver's instantiate over a script with the same commands.

The driver then runs again on its machine, where it has to change nothing. Each
round takes two fresh machines, one for the driver and one for the script, in
turns as to who is first.
"""

import json
import statistics
import tempfile
import time
from pathlib import Path

import paramiko

from mgmt_drivers.engine.operation import Operation
from mgmt_drivers.engine.services import Services
from mgmt_drivers.engine.trace import CHANGED
from mgmt_drivers.inventory import Node
from mgmt_drivers.params.private_registry import ImageArchive, PrivateRegistryParams
from mgmt_drivers.phases.registry import settings
from mgmt_drivers.phases.registry.vnf import RegistryVnf
from mgmt_drivers.plans import private_registry as plans
from mgmt_drivers.request import LcmRequest
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh.connection import Endpoint, connect
from mgmt_drivers.ssh.hostkeys import HostKeys
from mgmt_drivers.ssh.session import Session
from mgmt_drivers.tests.fakes import FakeStacks, MemoryStore
from tools.client import stacks
from tools.client.config import CONFIG, cloud
from tools.client.packages import registry_image

_NODE_IMAGE = "node-debian-13"


class Driver:
    """The plan of the private registry, as Tacker's hook would carry it out."""

    def __init__(self, params: PrivateRegistryParams) -> None:
        self.params = params
        self.connections = 0

    def run(self, address: str) -> list[str]:
        """Carry the plan out; returns the phases that changed something."""
        node = Node("vnfc", "PrivateRegistryVDU", address, {"CP1": address})
        request = LcmRequest("instantiate", "benchmark", Path(), {}, {})
        with tempfile.TemporaryDirectory() as folder:
            store = MemoryStore()
            services = Services(FakeStacks({}), store, Path(folder), connect=self._connect)
            secrets = self.params.secrets()
            with Operation(request, services, [node], self._endpoint, secrets) as operation:
                vnf = RegistryVnf(self.params, operation.connect([node]))
                operation.run(plans.INSTANTIATE, vnf)
            lines = (Path(folder) / "benchmark.jsonl").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        return [record["phase"] for record in records if record["outcome"] == CHANGED]

    def _endpoint(self, node: Node) -> Endpoint:
        password = self.params.ssh_password
        return Endpoint(node.address("CP1"), CONFIG.username, password, node.server_id)

    def _connect(
        self, endpoint: Endpoint, keys: HostKeys, masker: Masker, limit: float
    ) -> Session:
        self.connections += 1
        return connect(endpoint, keys, masker, limit)


def _by_hand(address: str, params: PrivateRegistryParams) -> None:
    """The commands that the driver gives, as one script over one connection."""
    assert params.image
    run = " ".join(settings.run_arguments(params))
    assert isinstance(params.image, ImageArchive)
    tag = params.image.tag
    script = f"""set -e
sudo DEBIAN_FRONTEND=noninteractive apt-get -q update
sudo DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends docker.io
sudo systemctl enable --quiet --now docker
sudo docker load --quiet
sudo docker tag {params.image.reference} {tag}
sudo docker run {run} {tag}
until curl -sf http://127.0.0.1:{params.port}/v2/; do sleep 0.1; done"""
    client = paramiko.SSHClient()
    # A machine of this very run: nobody has seen its key before.
    client.set_missing_host_key_policy(paramiko.AutoAddPolicy())  # noqa: S507
    client.connect(address, username=CONFIG.username, password=CONFIG.password)
    stdin, stdout, _ = client.exec_command(script)  # noqa: S601 - all of it is ours
    stdout.channel.set_combine_stderr(True)
    stdin.write(params.image.path.read_bytes())
    stdin.channel.shutdown_write()
    output = stdout.read()
    if stdout.channel.recv_exit_status():
        raise SystemExit(f"the script failed: {output.decode()[-2000:]}")
    client.close()


def _round(number: int, driver: Driver) -> tuple[float, float]:
    """Seconds of the driver and of the script, each on a machine of its own."""
    resources = stacks.server("one", _NODE_IMAGE) | stacks.server("two", _NODE_IMAGE)
    connection = cloud()
    with stacks.stack(connection, resources) as stack_id:
        addresses = [stacks.address(connection, stack_id, f"{n}_port") for n in ("one", "two")]
        for address in addresses:
            stacks.Remote(address).await_login()
        jobs = [
            ("driver", lambda: driver.run(addresses[0])),
            ("script", lambda: _by_hand(addresses[1], driver.params)),
        ]
        took = {}
        for name, job in jobs if number % 2 else reversed(jobs):
            start = time.monotonic()
            job()
            took[name] = time.monotonic() - start
        again = driver.run(addresses[0])
        if again:
            raise SystemExit(f"the second run of the driver changed something: {again}")
    of_driver, of_script = took["driver"], took["script"]
    print(f"round {number}: driver {of_driver:.2f} s, script {of_script:.2f} s", flush=True)
    return of_driver, of_script


def run(rounds: int) -> None:
    """Print the times of each round, and the ratio of their medians."""
    path: Path = registry_image()
    params = PrivateRegistryParams(
        "CP1",
        CONFIG.username,
        Secret(CONFIG.password),
        image=ImageArchive(path, "registry:2", "0" * 64),
    )
    driver = Driver(params)
    measured = [_round(number, driver) for number in range(1, rounds + 1)]
    of_driver, of_script = (statistics.median(column) for column in zip(*measured, strict=True))
    print(
        f"median: driver {of_driver:.2f} s, script {of_script:.2f} s, "
        f"ratio {of_driver / of_script:.3f}; "
        f"SSH connections of the driver per run: {driver.connections / (2 * rounds):g}; "
        "second runs changed nothing"
    )
