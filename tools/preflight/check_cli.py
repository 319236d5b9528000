"""The command line of checks for one request."""

import argparse
import json
import sys
from collections.abc import Iterator

from mgmt_drivers.errors import MgmtDriverError, ParameterError
from mgmt_drivers.tacker import vnfd
from tools import command
from tools.client.config import cloud
from tools.csar.cli import package
from tools.dry_run import envelope
from tools.dry_run.tacker import unpacked
from tools.preflight import cli, of_request
from tools.preflight.missing import Missing

_NEEDS = "what the request needs"


def parsers() -> Iterator[command.Parser]:
    made = command.part(
        "check",
        "Tell what the cloud of OS_CLOUD or OS_* lacks for a request to instantiate a VNF, and "
        "change nothing. Images, flavors, quota, networks and VIMs are compared with the VNF "
        "package; `k8s-vnf plan instantiate` checks the parameters of the drivers.",
        _check,
    )
    made.add_argument(
        "request", type=command.request, metavar="REQUEST",
        help="the JSON file of the request to Tacker",
    )
    text = "a CSAR, a folder, or its name in vnf_packages/"
    made.add_argument("--package", type=package, required=True, metavar="PACKAGE", help=text)
    command.add_api(made, "the one that REQUEST is of")
    command.add_output(made)
    yield made


def _check(options: argparse.Namespace) -> int:
    body = options.request
    try:
        envelope.check("instantiate", body, options.api)
        with unpacked(options.package) as files:
            needs = of_request.needs(vnfd.of_flavour(files, body["flavourId"]), body)
    except MgmtDriverError as error:
        errors = error.errors if isinstance(error, ParameterError) else [str(error)]
        for text in errors:
            print(f"refused: {text}", file=sys.stderr)
        return command.FINDING
    found = needs.missing(cloud())
    print(_as_json(found) if options.output == "json" else cli.report(found, _NEEDS))
    return int(bool(found))


def _as_json(found: list[Missing]) -> str:
    return json.dumps({"missing": [vars(missing) for missing in found]}, indent=2)
