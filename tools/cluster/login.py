"""Logs in to the control-plane nodes of a cluster, by the SSH host keys that the drivers know."""

import argparse
import contextlib
import getpass
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from openstack.connection import Connection

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
from tools.client.config import CONFIG
from tools.client.lcm import Vnf
from tools.command import existing_file, free_text

_PASSWORD = "CLUSTER_PASSWORD"  # noqa: S105 - the name of a variable
# Name of the drivers' SSH host keys in the metadata of a VNF instance, as Tacker's API shows it.
_HOST_KEYS = "mgmtdriversshhostkeys"
# Gives a context in which an error of a machine is caught, from the machine's address.
Catching = Callable[[str], contextlib.AbstractContextManager[None]]


def add_options(parser: command.Parser) -> None:
    parser.add_argument(
        "--username", type=free_text, default=CONFIG.username,
        help="SSH user of the machines; default: %(default)s",
    )
    parser.add_argument(
        "--private-key", type=existing_file, metavar="FILE",
        help=f"private key of the user; default: the password in {_PASSWORD}, or from a prompt",
    )
    trust = parser.add_mutually_exclusive_group()
    trust.add_argument(
        "--host-key", type=_known_key, action="append", default=[], metavar="FINGERPRINT",
        help="SSH host key that a machine may show if the drivers have pinned none of it: "
        "SHA256:..., or the line of a public key; may be given again",
    )
    trust.add_argument(
        "--trust-on-first-use", action="store_true",
        help="log in, with the password, to whatever machine answers if no key of it is pinned",
    )


def _known_key(text: str) -> KnownKey:
    try:
        return KnownKey.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no fingerprint, and {error}") from error


class Login:
    """The user's login, for which a password is asked at most once."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._key = Secret(options.private_key.read_text()) if options.private_key else None
        password = os.environ.get(_PASSWORD)
        if not (password or self._key):
            password = getpass.getpass("SSH password: ")
        self._password = Secret(password) if password else None
        self._masker = Masker([s for s in (self._key, self._password) if s])

    @contextlib.contextmanager
    def to_masters(
        self, connection: Connection, vnf: Vnf, catching: Catching
    ) -> Iterator[list[Host]]:
        """Log in to the control-plane nodes; those that answer are given."""
        nodes = machines(connection, vnf, self._options.vdu)
        if not nodes:
            raise LookupError(f"VNF instance {vnf.id} has no VNFC of VDU {self._options.vdu}")
        keys = HostKeys(pinned(vnf.show().get("metadata") or {}))
        hosts = []
        with contextlib.ExitStack() as connections:
            for node in nodes:
                with catching(node.addresses["SSH"]):
                    session = connect(self._endpoint(node, keys), keys, self._masker, RUNNING_LIMIT)
                    connections.callback(session.close)
                    hosts.append(Host(node, session))
            yield hosts

    def _endpoint(self, node: Node, keys: HostKeys) -> Endpoint:
        known = known_keys(keys, node.server_id, self._options)
        return Endpoint(
            node.addresses["SSH"], self._options.username, self._password, node.server_id,
            private_key=self._key, host_keys=known,
        )


def machines(connection: Connection, vnf: Vnf, vdu: str) -> list[Node]:
    """The machines of a VDU, each with its address for SSH."""
    vnfcs = [vnfc for vnfc in vnf.vnfcs() if vnfc["vduId"] == vdu]
    addresses = stacks.server_addresses(connection, vnf.id) if vnfcs else {}
    servers = [vnfc["computeResource"]["resourceId"] for vnfc in vnfcs]
    return [
        Node(
            vnfc["id"], vdu, server, {"SSH": addresses[server]},
            stacks.placement(connection, server),
        )
        for vnfc, server in zip(vnfcs, servers, strict=True)
    ]


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
