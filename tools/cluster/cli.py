"""The command line of clusters: status, kubeconfig, heal."""

import argparse
import contextlib
import functools
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from openstack.connection import Connection
from tackerclient.common.exceptions import TackerClientException

from mgmt_drivers.cluster import topology
from mgmt_drivers.errors import MgmtDriverError, printable
from mgmt_drivers.inventory import Node
from mgmt_drivers.machine import files
from mgmt_drivers.machine.host import Host
from tools import command
from tools.client import instances
from tools.client.config import cloud
from tools.client.errors import ClientError
from tools.client.lcm import Vnf
from tools.cluster import login
from tools.cluster.status import MASTER, Status, look_at
from tools.command import UsageError, free_text, output_file
from tools.dry_run import cli as dry_run
from tools.dry_run import report
from tools.progress import Progress, print_error

_PAUSE = 10  # seconds between two looks
_KUBECONFIG = "/etc/kubernetes/admin.conf"
_CLEAR = "\033[H\033[2J"  # what is on the terminal


def parsers() -> Iterator[command.Parser]:
    status = _part(
        "status",
        "Show the health of a cluster: nodes, members of etcd, days left of certificates. What is "
        "not healthy, or expires soon, is a finding, with the command that heals it.",
        _status,
    )
    login.add_options(status)
    command.add_output(status)
    text = f"look again every {_PAUSE} s, until Ctrl-C"
    status.add_argument("--watch", action="store_true", help=text)
    yield status
    kubeconfig = _part(
        "kubeconfig",
        "Write the kubeconfig of a cluster's administrator. Whoever has the file can do "
        "everything in the cluster: only its owner can read it.",
        _kubeconfig,
    )
    text = "new file; default: NAME.kubeconfig, with the name of the VNF"
    kubeconfig.add_argument("file", type=output_file, nargs="?", metavar="FILE", help=text)
    login.add_options(kubeconfig)
    yield kubeconfig
    heal = _part(
        "heal",
        "Replace the machine of a node: tell what the heal would change, ask, and send the "
        "request. A node that answers is drained before.",
        _heal,
    )
    heal.add_argument("node", type=_node, metavar="NODE", help="its name, which status shows")
    heal.add_argument("-y", "--yes", action="store_true", help="do not ask")
    yield heal


def _part(
    name: str, description: str, run: Callable[[Connection, Vnf, argparse.Namespace], int]
) -> command.Parser:
    """A command on one VNF instance in Tacker."""

    def on_instance(options: argparse.Namespace) -> int:
        connection = cloud()
        return run(connection, instances.find(connection, options.vnf, options.api), options)

    made = command.part(
        name, f"{description} Tacker is that of OS_CLOUD or OS_*.", on_instance
    )
    made.add_argument("vnf", type=free_text, metavar="VNF", help="id or name of the VNF instance")
    made.add_argument(
        "--vdu", type=free_text, default=MASTER,
        help="VDU of the control-plane nodes; default: %(default)s",
    )
    command.add_api(made, "the one that has the VNF")
    return made


def _node(text: str) -> str:
    if not topology.NODE_NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r}: a node is named like worker-af8aec3f835c")
    return text


def _status(connection: Connection, vnf: Vnf, options: argparse.Namespace) -> int:
    if options.watch and options.output == "json":
        raise UsageError("--watch shows a table: leave out -o json")
    user = login.Login(options)
    look = functools.partial(_look, connection, vnf, user, options.vdu)
    if not options.watch:
        status = look()
        print(json.dumps(status.as_json(), indent=2) if options.output == "json" else status)
        return int(bool(status.faults))
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            text = _look_again(look)
            clear = _CLEAR if sys.stdout.isatty() else ""
            print(f"{clear}{time.strftime('%H:%M:%S')}\n{text}", flush=True)
            time.sleep(_PAUSE)
    return command.GOOD


def _look_again(look: Callable[[], Status]) -> str:
    """An error of one look, such as of a cloud that does not answer, ends no watch."""
    try:
        return str(look())
    except Exception as error:
        return f"the cluster cannot be checked: {printable(str(error))}"


def _look(connection: Connection, vnf: Vnf, user: login.Login, master: str) -> Status:
    """:param master: VDU of the control-plane nodes"""
    status = Status(vnf.name or vnf.id, dict(_nodes(vnf, master)), master=master)
    with user.to_masters(connection, vnf, status.looking_at) as hosts:
        look_at(status, hosts, time.time())
    return status


def _nodes(vnf: Vnf, master: str) -> Iterator[tuple[str, str]]:
    """The name of each node, and the id of its VNFC."""
    for vnfc in vnf.vnfcs():
        node = Node("", "", vnfc["computeResource"]["resourceId"], {})
        role = "master" if vnfc["vduId"] == master else "worker"
        yield topology.node_name(role, node), vnfc["id"]


def _vnfc(vnf: Vnf, options: argparse.Namespace) -> str:
    """The id of the VNFC whose node the user names; never empty, which would heal all."""
    found = [vnfc for name, vnfc in _nodes(vnf, options.vdu) if name == options.node and vnfc]
    if len(found) != 1:
        raise ClientError(
            f"VNF instance {vnf.id} has {len(found)} VNFCs whose node is {options.node}; "
            "k8s-vnf status shows the nodes"
        )
    return found[0]


def _kubeconfig(connection: Connection, vnf: Vnf, options: argparse.Namespace) -> int:
    path: Path = options.file or Path(f"{vnf.name or vnf.id}.kubeconfig".replace("/", "-"))
    if path.exists():
        raise UsageError(f"{path} exists, and is left as it is: name another file")
    errors: list[str] = []
    catching = functools.partial(_collecting, errors)
    with login.Login(options).to_masters(connection, vnf, catching) as hosts:
        text = next(_read(hosts, errors), "")
    if not text:
        raise ClientError(f"no control-plane node gives {_KUBECONFIG}: {'; '.join(errors)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    print(shlex.join(["kubectl", "--kubeconfig", str(path), "get", "nodes"]))
    return command.GOOD


@contextlib.contextmanager
def _collecting(errors: list[str], what: str) -> Iterator[None]:
    try:
        yield
    except MgmtDriverError as error:
        errors.append(f"{what}: {error}")


def _read(hosts: list[Host], errors: list[str]) -> Iterator[str]:
    for host in hosts:
        with _collecting(errors, host.node.addresses["SSH"]):
            yield files.read(host, _KUBECONFIG)


def _heal(connection: Connection, vnf: Vnf, options: argparse.Namespace) -> int:
    vnfc = _vnfc(vnf, options)
    body = {"vnfcInstanceId": [vnfc]}
    try:
        found = dry_run.run_on(connection, vnf, "heal", vnf.api.operation(body))
    except MgmtDriverError as error:
        print_error(f"the heal would be refused: {error}")
        return command.FINDING
    print(report.text(report.as_json(found)))
    if not (options.yes or _agrees(f"Replace {options.node} (VNFC {vnfc})?")):
        print("nothing was changed")
        return command.GOOD
    if _vnfc(vnf, options) != vnfc:
        raise ClientError(f"node {options.node} has another VNFC than before the question")
    with _outlived(vnf):
        try:
            known = vnf.start_heal(body)
        except TackerClientException as error:
            if error.status_code not in range(400, 500):
                raise
            print_error(f"Tacker refuses the heal: {printable(str(error))}")
            return command.FINDING
        with Progress().step(f"healing {options.node}") as step:
            occurrence = vnf.await_outcome("HEAL", known=known)
            step.failed = occurrence["operationState"] != "COMPLETED"
    return _end(occurrence)


@contextlib.contextmanager
def _outlived(vnf: Vnf) -> Iterator[None]:
    """Whatever ends the block, also Ctrl-C, does not end the operation."""
    try:
        yield
    except BaseException:
        print_error(f"Tacker may go on with the heal: k8s-vnf watch {vnf.id} follows it")
        raise


def _agrees(question: str) -> bool:
    """:raises UsageError: if nobody can answer"""
    try:
        return input(f"\n{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError as error:
        raise UsageError("nothing was changed, since nobody answers: see --yes") from error


def _end(occurrence: Mapping[str, Any]) -> int:
    state, error = occurrence["operationState"], occurrence.get("error") or {}
    if state == "COMPLETED":
        return command.GOOD
    print_error(f"{state}: {printable(str(error.get('detail', '')))}")
    print(f"Remove the cause, then: openstack vnflcm op retry {occurrence['id']}", file=sys.stderr)
    return command.FINDING
