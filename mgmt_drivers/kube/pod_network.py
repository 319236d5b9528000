"""The built-in pod network: a bridge on each node, and routes between the nodes.

For nodes in one subnet whose ports let the pods' addresses through (Neutron's
allowed_address_pairs). Pods see each other's addresses; what leaves for the
world outside goes by the node's address.
"""

import ipaddress
import json
from collections.abc import Mapping
from dataclasses import dataclass

from mgmt_drivers.host import files
from mgmt_drivers.host.host import Host

_CNI = "/etc/cni/net.d/10-mgmt-driver-bridge.conflist"
_SCRIPT = "/usr/local/sbin/mgmt-driver-pod-network"
_UNIT = "mgmt-driver-pod-network.service"
_BRIDGE = "cni0"

_UNIT_FILE = f"""\
# Written by tacker-mgmt-drivers.
[Unit]
Description=Routes to the pods of other nodes
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={_SCRIPT}

[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True)
class PodNetwork:
    """One node's part: the pods' network, its own share, and where the others' shares lie.

    ``routes`` maps a share of the pods' network to the address of its node.
    """

    whole: ipaddress.IPv4Network
    own: str
    routes: Mapping[str, str]

    def files(self) -> list[tuple[str, str, str]]:
        """Path, content and mode of what makes it up."""
        return [
            (_CNI, self._conflist(), "0644"),
            (_SCRIPT, self._script(), "0755"),
            (f"/etc/systemd/system/{_UNIT}", _UNIT_FILE, "0644"),
        ]

    def _conflist(self) -> str:
        """A network configuration list of the CNI specification."""
        bridge = {
            "type": "bridge",
            "bridge": _BRIDGE,
            "isDefaultGateway": True,
            "hairpinMode": True,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": self.own}]]},
        }
        ports = {"type": "portmap", "capabilities": {"portMappings": True}}
        document = {
            "cniVersion": "0.3.1",
            "name": "mgmt-driver-bridge",
            "plugins": [bridge, ports],
        }
        return json.dumps(document, indent=2) + "\n"

    def _script(self) -> str:
        lines = ["#!/bin/sh", "# Written by tacker-mgmt-drivers.", "set -eu"]
        lines += [
            f"ip route replace {share} via {address}"
            for share, address in sorted(self.routes.items())
        ]
        # Routes to nodes that are gone.
        known = "|".join(sorted(self.routes)) or "none"
        lines += [
            f"ip -4 route show root {self.whole} | while read -r share via _; do",
            '    [ "$via" = via ] || continue',
            f'    case "$share" in {known}) ;; *) ip route delete "$share" ;; esac',
            "done",
        ]
        for chain, rule in (
            ("POSTROUTING", f"-t nat -s {self.own} ! -d {self.whole} -j MASQUERADE"),
            ("FORWARD", f"-s {self.whole} -j ACCEPT"),
            ("FORWARD", f"-d {self.whole} -j ACCEPT"),
        ):
            table, rest = ("-t nat", rule.removeprefix("-t nat ")) if "nat" in rule else ("", rule)
            check = f"iptables -w {table} -C {chain} {rest} 2>/dev/null"
            lines.append(f"{check} ||\n    iptables -w {table} -A {chain} {rest}")
        return "\n".join(lines) + "\n"


def is_configured(host: Host, network: PodNetwork) -> bool:
    running = host.ask("systemctl", "is-active", "--quiet", _UNIT).ok
    return running and all(files.has(host, *file) for file in network.files())


def configure(host: Host, network: PodNetwork) -> None:
    for file in network.files():
        files.write(host, *file)
    host.sudo("systemctl", "daemon-reload")
    host.sudo("systemctl", "enable", "--quiet", _UNIT)
    host.sudo("systemctl", "restart", _UNIT)
