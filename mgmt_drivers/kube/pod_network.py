"""The built-in pod network: a bridge on each node, and routes between the nodes.

For nodes in one subnet whose ports let the pods' addresses through (Neutron's
allowed_address_pairs). Pods see each other's addresses; what leaves for the
world outside goes by the node's address. Each node keeps its routes itself, as
the cluster tells it of other nodes: a node that comes or goes is no reason to
log in to all others.
"""

import base64
import ipaddress
import json
from dataclasses import dataclass

from mgmt_drivers.host import units
from mgmt_drivers.host.files import File
from mgmt_drivers.host.host import Host
from mgmt_drivers.kube.service_account import Credentials, ServiceAccount
from mgmt_drivers.secret import Secret

_NAME = "mgmt-driver-pod-network"
_CNI = "/etc/cni/net.d/10-mgmt-driver-bridge.conflist"
_SCRIPT = f"/usr/local/sbin/{_NAME}"
_KUBECONFIG = f"/etc/kubernetes/{_NAME}.conf"
_UNIT = f"{_NAME}.service"
_NETWORK = "mgmt-driver-bridge"
_BRIDGE = "cni0"

# What a reset of the node has to take away: unit, bridge, CNI configuration and leases.
STATE = (_UNIT, _BRIDGE, _CNI, f"/var/lib/cni/networks/{_NETWORK}")

# Not kubelet's own: since 1.32 that sees no node but its own.
ACCOUNT = ServiceAccount(
    _NAME,
    role=_NAME,
    role_manifest=f"""\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: {_NAME}}}
rules: [{{apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}}]
""",
)

_UNIT_FILE = f"""\
# Written by tacker-mgmt-drivers.
[Unit]
Description=Routes to the pods of other nodes
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
ExecStart={_SCRIPT}
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
"""


@dataclass(frozen=True)
class PodNetwork:
    """One node's part: the cluster's pod CIDR, the node's own, and whom it asks for the others'.

    ``mtu`` is that of the interface by which the node reaches the others: clouds whose networks
    are tunnels have less than 1500 bytes. ``server`` is the API's URL, ``credentials`` are those
    of :data:`ACCOUNT`.
    """

    pod_cidr: ipaddress.IPv4Network
    node_cidr: ipaddress.IPv4Network
    mtu: int
    server: str
    credentials: Credentials

    def files(self) -> list[File]:
        return [
            File(_CNI, self._conflist()),
            File(_KUBECONFIG, self._kubeconfig(), "0600"),
            File(_SCRIPT, self._script(), "0755"),
            File(f"/etc/systemd/system/{_UNIT}", _UNIT_FILE),
        ]

    def _conflist(self) -> str:
        """A network configuration list of the CNI specification."""
        bridge = {
            "type": "bridge",
            "bridge": _BRIDGE,
            "isDefaultGateway": True,
            "hairpinMode": True,
            "mtu": self.mtu,
            "ipam": {"type": "host-local", "ranges": [[{"subnet": str(self.node_cidr)}]]},
        }
        ports = {"type": "portmap", "capabilities": {"portMappings": True}}
        document = {
            "cniVersion": "0.3.1",
            "name": _NETWORK,
            "plugins": [bridge, ports],
        }
        return json.dumps(document, indent=2) + "\n"

    def _kubeconfig(self) -> Secret:
        ca = base64.b64encode(self.credentials.ca.encode()).decode()
        cluster = {"server": self.server, "certificate-authority-data": ca}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cluster", "cluster": cluster}],
            "users": [{"name": _NAME, "user": {"token": self.credentials.token.reveal()}}],
            "contexts": [{"name": _NAME, "context": {"cluster": "cluster", "user": _NAME}}],
            "current-context": _NAME,
        }
        return Secret(json.dumps(document, indent=2) + "\n")

    def _script(self) -> str:
        lines = ["#!/bin/bash", "# Written by tacker-mgmt-drivers.", "set -euo pipefail"]
        for table, chain, rule in (
            ("nat", "POSTROUTING", f"-s {self.node_cidr} ! -d {self.pod_cidr} -j MASQUERADE"),
            ("filter", "FORWARD", f"-s {self.pod_cidr} -j ACCEPT"),
            ("filter", "FORWARD", f"-d {self.pod_cidr} -j ACCEPT"),
        ):
            words = f"iptables -w -t {table}"
            lines.append(
                f"{words} -C {chain} {rule} 2>/dev/null ||\n    {words} -A {chain} {rule}"
            )
        lines += [
            f"own={self.node_cidr} length={self.node_cidr.prefixlen}",
            f"network={int(self.pod_cidr.network_address)} mask={int(self.pod_cidr.netmask)}",
        ]
        return "\n".join(lines) + _FOLLOW_NODES


# A node says itself what address it has, and one that somebody else runs may say anything: routes
# to what is no node's part of the pod CIDR would draw other traffic to it, and what is no address
# must not end this. A route that the kernel refuses is tried again with the next watch.
# A watch that is silent may be a dead one: it is begun anew every few minutes.
_EVENT = (
    '{.type} {.object.spec.podCIDR} '
    '{.object.status.addresses[?(@.type=="InternalIP")].address}{"\\n"}'
)
_FOLLOW_NODES = f"""
is_part() {{  # whether $1 is a node's part of the pod CIDR
    local byte='(0|[1-9][0-9]{{0,2}})'
    [[ $1 =~ ^$byte\\.$byte\\.$byte\\.$byte/$length$ ]] || return 1
    local b=("${{BASH_REMATCH[@]:1}}")
    (( ((b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3]) & mask) == network ))
}}
kubectl --kubeconfig {_KUBECONFIG} --request-timeout=180s get nodes --watch \\
    --output-watch-events --output 'jsonpath={_EVENT}' |
    while read -r event cidr address _; do
        if [ -z "$address" ] || [ "$cidr" = "$own" ]; then continue; fi
        if ! is_part "$cidr" || [[ ! $address =~ ^[0-9.]+$ ]]; then continue; fi
        case "$event" in
        ADDED | MODIFIED) ip route replace "$cidr" via "$address" || true ;;
        DELETED) ip route delete "$cidr" via "$address" || true ;;
        esac
    done
"""


def is_configured(host: Host, network: PodNetwork) -> bool:
    return units.is_as_configured(host, _UNIT, network.files())


def configure(host: Host, network: PodNetwork) -> None:
    units.configure(host, _UNIT, network.files())
