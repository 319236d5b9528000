"""The command line for the status of clusters."""

import argparse
import contextlib
import getpass
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from mgmt_drivers.engine.operation import RUNNING_LIMIT
from mgmt_drivers.errors import WrongHostKey
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine.host import Host
from mgmt_drivers.secret import Masker, Secret
from mgmt_drivers.ssh.connection import Endpoint
from mgmt_drivers.ssh.handshake import connect
from mgmt_drivers.ssh.hostkeys import HostKeys, KnownKey
from tools import command
from tools.client import stacks
from tools.client.api import V1, V2
from tools.client.config import CONFIG, cloud, tacker
from tools.client.lcm import Vnf
from tools.cluster.status import Status, look_at
from tools.command import existing_file, free_text, unique_id

_PASSWORD = "CLUSTER_PASSWORD"  # noqa: S105 - the name of a variable
# Name of the drivers' SSH host keys in the metadata of a VNF instance, as Tacker's API shows it.
_HOST_KEYS = "mgmtdriversshhostkeys"


def main(argv: Sequence[str] | None = None) -> int:
    """Look at a cluster; returns an exit status."""
    options = parser().parse_args(argv)
    status = Status()
    try:
        with contextlib.ExitStack() as connections:
            masters = _masters(options, status, connections)
            look_at(status, masters, time.time())
    except Exception as error:
        print(f"cluster: the cluster cannot be checked: {error}", file=sys.stderr)
        return command.UNKNOWN
    print("\n".join([*status.lines, *(f"FAULT: {fault}" for fault in status.faults)]))
    return int(bool(status.faults))


def parser() -> argparse.ArgumentParser:
    parser = command.parser("python -m tools.cluster", "Look at a cluster.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    status = commands.add_parser(
        "status",
        help="nodes, members of etcd, days left of certificates",
        description="Show the nodes, the members of etcd and the days left of the certificates of "
        "a cluster in the Tacker of OS_CLOUD or OS_*. What is not healthy, or expires soon, "
        "is a finding.",
    )
    status.add_argument("vnf", type=unique_id, metavar="VNF-INSTANCE-ID")
    status.add_argument("--api", choices=("1", "2"), default="1", help="default: %(default)s")
    status.add_argument(
        "--vdu", type=free_text, default="masterNode",
        help="VDU of the control-plane nodes; default: %(default)s",
    )
    status.add_argument(
        "--username", type=free_text, default=CONFIG.username,
        help="SSH user of the machines; default: %(default)s",
    )
    status.add_argument(
        "--private-key", type=existing_file, metavar="FILE",
        help=f"private key of the user; default: the password in {_PASSWORD}, or from a prompt",
    )
    trust = status.add_mutually_exclusive_group()
    trust.add_argument(
        "--host-key", type=_known_key, action="append", default=[], metavar="FINGERPRINT",
        help="SSH host key that a machine may show if the drivers have pinned none of it: "
        "SHA256:..., or the line of a public key; may be given again",
    )
    trust.add_argument(
        "--trust-on-first-use", action="store_true",
        help="log in, with the password, to whatever machine answers if no key of it is pinned",
    )
    return parser


def _known_key(text: str) -> KnownKey:
    try:
        return KnownKey.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no fingerprint, and {error}") from error


def _masters(
    options: argparse.Namespace, status: Status, connections: contextlib.ExitStack
) -> list[Host]:
    """Log in to the control-plane nodes; a node that does not answer is a fault."""
    connection = cloud()
    api = V2() if options.api == "2" else V1()
    vnf = Vnf(tacker(connection, api.version), options.vnf, options.vnf, api)
    vnfcs = [vnfc for vnfc in vnf.vnfcs() if vnfc["vduId"] == options.vdu]
    if not vnfcs:
        raise LookupError(f"VNF instance {vnf.id} has no VNFC of VDU {options.vdu}")
    addresses = stacks.server_addresses(connection, vnf.id)
    keys = HostKeys(pinned(vnf.show().get("metadata") or {}))
    key = Secret(options.private_key.read_text()) if options.private_key else None
    password = os.environ.get(_PASSWORD) or (None if key else getpass.getpass("SSH password: "))
    secret = Secret(password) if password else None
    masker = Masker([s for s in (key, secret) if s])
    hosts: list[Host] = []
    for vnfc in vnfcs:
        server = vnfc["computeResource"]["resourceId"]
        address = addresses[server]
        placement = stacks.placement(connection, server)
        node = Node(vnfc["id"], vnfc["vduId"], server, {"SSH": address}, placement)
        with status.looking_at(address):
            known = known_keys(keys, server, options)
            endpoint = Endpoint(
                address, options.username, secret, server, private_key=key, host_keys=known
            )
            session = connect(endpoint, keys, masker, RUNNING_LIMIT)
            connections.callback(session.close)
            hosts.append(Host(node, session))
    return hosts


def known_keys(
    keys: HostKeys, server: str, options: argparse.Namespace
) -> tuple[KnownKey, ...]:
    """The keys that the user names for a machine; empty if a key is pinned, or any is trusted.

    :raises WrongHostKey: nothing is known of the machine's key
    """
    if keys.type_of(server):
        return ()
    if not options.host_key and not options.trust_on_first_use:
        raise WrongHostKey(
            f"the drivers have pinned no SSH host key of server {server}: name its fingerprint, "
            f"which `openstack console log show {server}` shows, with --host-key"
        )
    return tuple(options.host_key)


def pinned(metadata: Mapping[str, Any]) -> dict[str, str]:
    """The SSH host keys that the drivers have pinned, by server id."""
    for name, value in metadata.items():
        if name.replace("_", "").lower() == _HOST_KEYS:
            keys: dict[str, str] = json.loads(value)
            return keys
    return {}
