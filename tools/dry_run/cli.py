"""The command line of dry runs."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from openstack.connection import Connection

from mgmt_drivers.cluster.modification import NAME as MODIFICATION
from mgmt_drivers.engine.services import Services
from mgmt_drivers.errors import MgmtDriverError, ParameterError
from mgmt_drivers.tacker import vnfd
from tools import command
from tools.client import instances, lcm
from tools.client.config import cloud, tacker
from tools.command import existing_file, free_text
from tools.csar.cli import package
from tools.dry_run import envelope, numbers, report
from tools.dry_run.instances import Instance, Metadata, new_request
from tools.dry_run.new_machines import NoStacks
from tools.dry_run.operations import Result, Vnf
from tools.dry_run.tacker import Cloud, unpacked


def _part(
    operation: str, description: str, run: Callable[[argparse.Namespace], int]
) -> command.Parser:
    """A command, for which an operation that would be refused is a finding."""

    def report_refusals(options: argparse.Namespace) -> int:
        try:
            return run(options)
        except ParameterError as error:
            refusals = list(error.errors)
        except MgmtDriverError as error:
            refusals = [str(error)]
        for text in refusals:
            print(f"refused: {text}", file=sys.stderr)
        return command.FINDING

    made = command.part(f"plan {operation}", description, report_refusals)
    made.set_defaults(operation=operation)
    return made


def _compare(arguments: argparse.Namespace) -> int:
    comparison = report.compare(report.load(arguments.report), arguments.trace)
    print("\n".join(["predicted       done       phase and machine", *comparison.lines]))
    for line in comparison.wrong:
        print(f"wrong: {line}", file=sys.stderr)
    return int(bool(comparison.wrong))


def _print(arguments: argparse.Namespace) -> int:
    found = report.as_json(_dry_run(arguments))
    print(json.dumps(found, indent=2) if arguments.output == "json" else report.text(found))
    return 0


def _dry_run(arguments: argparse.Namespace) -> Result:
    body, operation = arguments.request, arguments.operation
    if operation == "instantiate":
        return _instantiate(arguments, body, envelope.check(operation, body, arguments.api))
    connection = cloud()
    found = instances.find(connection, arguments.vnf, arguments.api)
    envelope.check(operation, body, found.api.version)
    return run_on(connection, found, operation, body, arguments.package)


def run_on(
    connection: Connection,
    found: lcm.Vnf,
    operation: str,
    body: dict[str, Any],
    given: Path | None = None,
) -> Result:
    """Run an operation on an instance in Tacker as a dry run.

    :param given: the VNF package; default: that in Tacker
    :raises MgmtDriverError: if the operation would be refused
    """
    asked = Cloud(connection, found.client, found.api.version)
    shown = found.show_instantiated()
    vnfd_id = body.get("vnfdId") if operation == "change-package" else None
    with unpacked(given) if given else asked.package(vnfd_id or shown["vnfdId"]) as files:
        instance = asked.instance(shown, files, body)
        vnf = Vnf(
            instance.request(),
            asked.services(instance.store),
            lambda name: asked.is_taken(name, shown),
        )
        return run_operation(operation, vnf, instance, body)


def _instantiate(
    arguments: argparse.Namespace, body: dict[str, Any], version: str
) -> Result:
    """Run an instantiation; Tacker's VIMs are checked only with a cloud in the environment."""
    has_cloud = os.environ.get("OS_CLOUD") or os.environ.get("OS_AUTH_URL")
    connection = cloud() if has_cloud else None
    asked = connection and Cloud(connection, tacker(connection, version), version)
    with unpacked(arguments.package) as files:
        request, services = new_request(files, body, version), Services(NoStacks(), Metadata({}))
        vnf = Vnf(request, services, asked.is_taken) if asked else Vnf(request, services)
        vnf.validate()
        definition = vnfd.of_flavour(files, request.flavour)
        return vnf.instantiate(numbers.instantiated(definition, body.get("instantiationLevelId")))


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
        return vnf.change_package(instance.of_new_package())
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


def parsers() -> Iterator[command.Parser]:
    yield _operation("instantiate", "the instantiation of a VNF", "")
    yield _operation("scale", "a scale-out or scale-in", "")
    yield _operation("heal", "a heal of machines, or without REQUEST of the whole VNF,", "?")
    yield _operation("modify", "a modification", "")
    yield _operation("change-package", "another VNF package (v2 API)", "")
    yield _operation("terminate", "the termination of a VNF", None)
    text = "Compare a prediction with the last operation in a trace."
    comparing = _part("compare", text, _compare)
    for name, text in (("report", "output of -o json"), ("trace", "JSON lines of the drivers")):
        comparing.add_argument(name, type=existing_file, metavar=name.upper(), help=text)
    yield comparing


def _operation(name: str, text: str, request: str | None) -> command.Parser:
    description = f"Tell what {text} would change, and change nothing."
    added = _part(name, f"{description} The whole request is checked, too.", _print)
    added.set_defaults(request={}, vnf=None)
    if request is not None:
        added.add_argument(
            "request", type=command.request, nargs=request or None, metavar="REQUEST",
            help="the JSON file of the request to Tacker",
        )
    if name != "instantiate":
        added.add_argument("--vnf", type=free_text, required=True, help="its id or name")
    added.add_argument(
        "--package", type=package, required=name == "instantiate", metavar="PACKAGE",
        help="a CSAR, a folder, or its name in vnf_packages/; default but for instantiate: that in "
        "Tacker",
    )
    command.add_api(added, "the one that REQUEST or the VNF is of")
    command.add_output(added)
    return added
