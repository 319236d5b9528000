"""The command line."""

import argparse
import json
import logging
import os
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from keystoneauth1.exceptions import ClientException as KeystoneException
from openstack.exceptions import SDKException
from tackerclient.common.exceptions import TackerClientException

from mgmt_drivers.cluster.modification import NAME as MODIFICATION
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import MgmtDriverError, ParameterError, printable
from mgmt_drivers.tacker import vnfd
from tools import command
from tools.client.config import cloud, tacker
from tools.client.errors import ClientError
from tools.command import existing, existing_file, free_text
from tools.dry_run import numbers, report
from tools.dry_run.instances import Instance, NewInstance
from tools.dry_run.new_machines import NoStacks
from tools.dry_run.operations import Result, Vnf
from tools.dry_run.tacker import Cloud, unpacked
from tools.timeline.runs import NoTrace

_FAILURES = (
    ClientError, KeystoneException, NoTrace, OSError, SDKException, TackerClientException
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run an operation as a dry run, or compare; returns an exit status."""
    arguments = _parser().parse_args(argv)
    logging.basicConfig(level=logging.CRITICAL)
    try:
        if arguments.operation == "compare":
            return _compare(arguments)
        reported = report.as_json(_dry_run(arguments))
    except ParameterError as error:
        for text in error.errors:
            print(f"refused: {text}", file=sys.stderr)
        return 1
    except MgmtDriverError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 1
    except _FAILURES as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return command.UNKNOWN
    print(json.dumps(reported, indent=2) if arguments.json else "\n".join(report.table(reported)))
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    comparison = report.compare(report.load(arguments.report), arguments.trace)
    print("\n".join(["predicted       done       phase and machine", *comparison.lines]))
    for line in comparison.wrong:
        print(f"wrong: {line}", file=sys.stderr)
    return int(bool(comparison.wrong))


def _dry_run(arguments: argparse.Namespace) -> Result:
    body = arguments.request
    if arguments.operation == "instantiate":
        return _instantiate(arguments, body)
    asked = _cloud(arguments.api_version)
    shown = asked.shown(arguments.vnf)
    vnfd_id = body.get("vnfdId") if arguments.operation == "change-package" else None
    with _package(arguments, asked, vnfd_id or shown["vnfdId"]) as package:
        instance = asked.instance(shown, package, body)
        request = instance.request()
        vnf = Vnf(
            request,
            asked.services(instance.store),
            lambda name: asked.is_taken(name, shown),
        )
        return run_operation(arguments.operation, vnf, instance, body)


def _cloud(version: str) -> Cloud:
    connection = cloud()
    return Cloud(connection, tacker(connection, version), version)


def _instantiate(arguments: argparse.Namespace, body: dict[str, Any]) -> Result:
    """Run an instantiation; Tacker's VIMs are checked only with a cloud in the environment."""
    has_cloud = os.environ.get("OS_CLOUD") or os.environ.get("OS_AUTH_URL")
    asked = _cloud(arguments.api_version) if has_cloud else None
    with unpacked(arguments.package) as package:
        instance = NewInstance(package, body, arguments.api_version)
        request = instance.request()
        services = Services(NoStacks(), instance.store)
        vnf = Vnf(request, services, asked.is_taken) if asked else Vnf(request, services)
        vnf.validate()
        definition = vnfd.of_flavour(package, request.flavour)
        return vnf.instantiate(numbers.instantiated(definition, body.get("instantiationLevelId")))


@contextmanager
def _package(arguments: argparse.Namespace, asked: Cloud, vnfd_id: str) -> Iterator[Path]:
    """The VNF package of the command line, or else the package in Tacker."""
    given = arguments.package
    with unpacked(given) if given else asked.package(vnfd_id) as package:
        yield package


def run_operation(operation: str, vnf: Vnf, instance: Instance, body: dict[str, Any]) -> Result:
    """Run an operation on a VNF as a dry run.

    :param body: the request
    :raises MgmtDriverError: if the operation would be refused
    """
    if operation == "scale":
        return _scale(vnf, instance, body)
    if operation == "heal":
        return vnf.heal(instance.targets(body.get("vnfcInstanceId") or ()))
    if operation == "modify":
        return vnf.modify((body.get("metadata") or {}).get(MODIFICATION))
    if operation == "change-package":
        return vnf.modify(instance.of_new_package())
    return vnf.terminate()


def _scale(vnf: Vnf, instance: Instance, body: dict[str, Any]) -> Result:
    kind, steps = body.get("type"), body.get("numberOfSteps", 1)
    errors = []
    if kind not in ("SCALE_OUT", "SCALE_IN"):
        errors.append("type: must be SCALE_OUT or SCALE_IN")
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        errors.append("numberOfSteps: must be a whole number of at least 1")
    if errors:
        raise ParameterError(errors)
    aspect = str(body.get("aspectId", ""))
    request = instance.request()
    machines = numbers.scaled(vnfd.of_flavour(request.package, request.flavour), aspect, steps)
    if kind == "SCALE_OUT":
        return vnf.scale_out(machines)
    return vnf.scale_in(instance.leaving(aspect, machines))


def _request(text: str) -> dict[str, Any]:
    try:
        body = json.loads(existing_file(text).read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"{text!r} is not a request in JSON: {error}") from error
    if not isinstance(body, dict):
        raise ArgumentTypeError(f"{text!r} is not a request: it must be an object in JSON")
    return body


def _parser() -> argparse.ArgumentParser:
    parser = command.parser(
        "python -m tools.dry_run",
        "Tell what an operation would change on which machine, and change nothing.",
    )
    commands = parser.add_subparsers(dest="operation", required=True, metavar="OPERATION")

    def operation(name: str, text: str, request: str | None) -> argparse.ArgumentParser:
        description = f"Tell what {text} would change, and change nothing."
        added = commands.add_parser(name, help=text, description=description)
        added.set_defaults(request={}, vnf=None)
        if request is not None:
            added.add_argument(
                "request", type=_request, nargs=request or None, metavar="REQUEST",
                help="the JSON file of the request to Tacker",
            )
        if name != "instantiate":
            added.add_argument("--vnf", type=free_text, required=True, help="its id or name")
        added.add_argument(
            "--package", type=existing, required=name == "instantiate", metavar="PACKAGE",
            help="a CSAR or the folder of its files; default but for instantiate: that in Tacker",
        )
        added.add_argument("--api-version", choices=("1", "2"), default="1", help="of Tacker's API")
        added.add_argument("--json", action="store_true", help="print JSON, for compare")
        return added

    operation("instantiate", "the instantiation of a VNF", "")
    operation("scale", "a scale-out or scale-in", "")
    operation("heal", "a heal of machines, or without REQUEST of the whole VNF,", "?")
    operation("modify", "a modification", "")
    operation("change-package", "another VNF package (v2 API)", "")
    operation("terminate", "the termination of a VNF", None)
    text = "Compare a prediction with the last operation in a trace."
    comparing = commands.add_parser("compare", help=text, description=text)
    for name, text in (("report", "output of --json"), ("trace", "JSON lines of the drivers")):
        comparing.add_argument(name, type=existing_file, metavar=name.upper(), help=text)
    return parser
