"""Values of the placeholders in the guide's commands, on a standing cluster."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from openstack.connection import Connection
from tackerclient.v1_0.client import Client

from mgmt_drivers.machine.files import STATE_FOLDER
from tools.client import stacks
from tools.client.lcm import Vnf
from tools.client.machines import Remote

_MASTER, _WORKER = "masterNode", "workerNode"
_BACKUPS = f"sudo bash {STATE_FOLDER}/etcd-backup.sh list"
_SYSTEM = "kubectl --namespace kube-system get"


class Standing:
    """The cluster, and the private registry, on which the commands are run."""

    def __init__(self, cloud: Connection, client: Client, vnf: Vnf, registry: str) -> None:
        """:param registry: address of the private registry"""
        self.cloud, self.client, self.vnf, self.registry = cloud, client, vnf, registry
        self.packages: list[str] = []  # ids of packages that were made for commands
        self._lost = ""  # VNFC of the machine that a command kills

    def resolve(self, script: str) -> str:
        """Put the values of now in the place of placeholders."""
        return PLACEHOLDER.sub(lambda found: _VALUES[found[0]](self), script)

    def vnfc(self) -> str:
        """The VNFC to heal: that of the machine which was killed, or else a worker's."""
        ids = [vnfc["id"] for vnfc in self.vnf.vnfcs()]
        return self._lost if self._lost in ids else str(self._vnfcs(_WORKER)[0]["id"])

    def address(self, vdu: str, number: int = 0) -> str:
        addresses = stacks.server_addresses(self.cloud, self.vnf.id)
        return addresses[_server(self._vnfcs(vdu)[number])]

    def ask(self, command: str) -> Sequence[str]:
        """The words that a command prints on the holder of the virtual IP."""
        return Remote(self.virtual_ip()).run(command).split()

    def virtual_ip(self) -> str:
        (vim,) = self.vnf.cluster_vims()
        return vim.auth_url.partition("://")[2].rpartition(":")[0]

    def occurrence(self) -> str:
        """The newest operation that v1 shows: it cannot show modifications."""
        shown = [o for o in self.vnf.occurrences() if o["operation"] != "MODIFY_INFO"]
        return str(shown[-1]["id"])

    def server(self) -> str:
        return _server(self._vnfcs(_WORKER)[0])

    def lose(self) -> str:
        """The address of a control-plane node that is about to be killed."""
        self._lost = self._vnfcs(_MASTER)[-1]["id"]
        return self.address(_MASTER, -1)

    def make_package(self) -> str:
        self.packages.append(str(self.client.create_vnf_package({})["id"]))
        return self.packages[-1]

    def _vnfcs(self, vdu: str) -> list[dict[str, Any]]:
        return [vnfc for vnfc in self.vnf.vnfcs() if vnfc["vduId"] == vdu]


def _server(vnfc: Mapping[str, Any]) -> str:
    return str(vnfc["computeResource"]["resourceId"])


def _name(resource: str) -> str:
    """The name in what ``kubectl --output name`` prints."""
    return resource.partition("/")[2]


_VALUES: Mapping[str, Callable[[Standing], str]] = {
    "ADDRESS": lambda it: it.address(_MASTER),
    "ADDRESS-OF-THE-REGISTRY": lambda it: it.registry,
    "BACKUP-NAME": lambda it: it.ask(_BACKUPS)[-1],
    "FOLDER-OF-THAT-PYTHON": lambda _: str(Path(sys.executable).parent),
    "NAME-OR-ID": lambda it: it.vnf.id,
    "NODE": lambda it: _name(it.ask("kubectl get nodes --output name")[0]),
    "NODE-ADDRESS": lambda it: it.address(_MASTER),
    "OPERATION-OCCURRENCE-ID": Standing.occurrence,
    "OTHER-ADDRESS": Standing.lose,
    "REGISTRY-ADDRESS": lambda it: it.registry,
    "SECRET-NAME": lambda it: next(
        _name(word) for word in it.ask(f"{_SYSTEM} secrets --output name") if "/tacker-vim" in word
    ),
    "SERVER": Standing.server,
    "SERVER-GROUP-ID": lambda it: str(next(iter(it.cloud.compute.server_groups())).id),
    "VIRTUAL-IP": Standing.virtual_ip,
    "VNF": lambda it: it.vnf.id,
    "VNF-INSTANCE-ID": lambda it: it.vnf.id,
    "VNF-PACKAGE-ID": Standing.make_package,
    "VNFC-ID": Standing.vnfc,
    "VNFD-ID": lambda _: '$(openstack vnf package show "$PACKAGE" -f value -c "VNFD ID")',
    "WORKER-ADDRESS": lambda it: it.address(_WORKER),
}
# A placeholder is a word of its own, perhaps after an underscore: no variable that is set, and no
# part of a column, such as "VNF Instance Name".
PLACEHOLDER = re.compile(
    rf"(?<![A-Za-z0-9$-])(?:{'|'.join(sorted(_VALUES, key=len, reverse=True))})(?![\w=-]| Instance)"
)
