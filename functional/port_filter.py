"""What security groups let through between ports, asked of OVN: no packet is sent."""

import shlex
import subprocess
from typing import Any

from openstack.connection import Connection

from tools.client.config import CONFIG

# Every look at the connection table finds a new connection.
_NEW_CONNECTIONS = ["--ct=new"] * 6


class PortFilter:
    """Answers for the ports of one cloud, which are named by the addresses of their servers."""

    def __init__(self, connection: Connection) -> None:
        self._cloud = connection

    def passes(self, source: str, target: str, packet: str, receiver: str = "") -> bool:
        """Whether the first packet of a connection reaches the target's server.

        :param packet: the protocol, as OVN's expressions have it: ``tcp.dst == 22``
        :param receiver: address in the packet, if it is not the target's own
        """
        one, other = self._port(source), self._port(target)
        flow = (
            f'inport == "{one.id}" && eth.src == {one.mac_address} '
            f"&& eth.dst == {other.mac_address} && ip4.src == {source} "
            f"&& ip4.dst == {receiver or target} && ip.ttl == 64 && {packet}"
        )
        command = [*shlex.split(CONFIG.ovn_trace), *_NEW_CONNECTIONS, "--minimal"]
        command += [f"neutron-{one.network_id}", flow]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        # OVN shows a port that has a name by the name.
        return f'output("{other.name or other.id}")' in done.stdout

    def _port(self, address: str) -> Any:
        (port,) = self._cloud.network.ports(fixed_ips=f"ip_address={address}")
        return port
