"""Runs the functional scenarios, on the cloud that the environment names or on devcloud."""

import argparse
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from docker.errors import DockerException

from tools import command, locks
from tools.devcloud import openrc
from tools.devcloud.cloud import Cloud
from tools.devcloud.diagnosis import TRACES, collect
from tools.devcloud.error_report import report_errors
from tools.devcloud.errors import CloudError
from tools.devcloud.identity import CHECKOUT, Identity
from tools.devcloud.recipes import RELEASES
from tools.devcloud.settings import MONITORING_PATH
from tools.progress import Progress, print_error
from tools.scenarios.runner import run_preflight, run_scenarios
from tools.scenarios.selection import Selection, expressions, groups, record_of_passes, select

LOGS = CHECKOUT / "functional" / "logs"
_LOCK = CHECKOUT / "build" / "scenarios.lock"
_CONDUCTORS = "sh /opt/devcloud/tools/devcloud/controller/conductor.sh"
_REFUSED_PACKETS = "sh /opt/devcloud/tools/devcloud/controller/refused-packets.sh"
_RUN_PLAYBOOKS = "zuul.d/playbooks/devcloud/run.sh"


def main() -> int:
    parser = command.parser(
        "python -m tools.scenarios",
        "Run the scenarios against the cloud of OS_CLOUD or OS_AUTH_URL; when "
        "neither is set, against the embedded cloud, which is brought up, and taken down "
        "again unless it was up before.",
    )
    parser.add_argument("--keep", action="store_true", help="leave the embedded cloud up")
    parser.add_argument("--full", action="store_true", help="run the long groups instead")
    parser.add_argument(
        "--again", action="store_true",
        help="with --full: also run scenarios that have passed on this commit",
    )
    parser.add_argument(
        "--release", metavar="RELEASE", choices=RELEASES,
        help=f"of the embedded cloud's OpenStack, of {', '.join(RELEASES)} "
        f"(default: {RELEASES[0]}, or that of the group)",
    )
    parser.add_argument(
        "--skip-preflight", action="store_true", help="run even if the cloud lacks something"
    )
    parser.add_argument(
        "names", type=_expression, nargs="*", metavar="NAME",
        help="only scenarios that match the regular expression; with --full also only the group: "
        + ", ".join(groups()),
    )
    options = parser.parse_args()
    return report_errors(lambda: _run_alone(options))


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from error
    return text


def _run_alone(options: argparse.Namespace) -> int:
    """Run the selected scenarios, when no other run works in this checkout."""
    _LOCK.parent.mkdir(parents=True, exist_ok=True)
    with _LOCK.open("w") as file:
        locks.acquire(file, "another run of scenarios works in this checkout", Progress())
        return _run_selected(options)


def _run_selected(options: argparse.Namespace) -> int:
    cloud = os.environ.get("OS_CLOUD") or os.environ.get("OS_AUTH_URL")
    # After an interruption, a run of long scenarios leaves out scenarios that have passed.
    resumed = options.full and not options.again
    record = record_of_passes(cloud or f"devcloud{options.release or ''}") if resumed else None
    with tempfile.TemporaryDirectory() as folder:
        selection = select(Path(folder), expressions(options.full, options.names), record)
    for name in selection.passed:
        print(f"not run again, since it passed on this commit: {name}", flush=True)
    if not selection.scenarios:
        if not selection.passed:
            print_error(f"no scenario matches {' '.join(options.names)}; see --help for groups")
        return command.GOOD if selection.passed else command.USAGE
    shutil.rmtree(LOGS, ignore_errors=True)
    LOGS.mkdir(parents=True)
    if cloud:
        return _run(selection, LOGS, options.skip_preflight, dict(os.environ))
    parts = {options.release: selection} if options.release else selection.by_release()
    statuses = [
        _on_devcloud(part, release, LOGS / release if len(parts) > 1 else LOGS, options)
        for release, part in parts.items()
    ]
    return max(statuses)


def _run(
    selection: Selection, logs: Path, skip_preflight: bool, environment: dict[str, str]
) -> int:
    status = 0 if skip_preflight else run_preflight(environment)
    return status or run_scenarios(selection, logs, environment)


def _on_devcloud(
    selection: Selection, release: str, logs: Path, options: argparse.Namespace
) -> int:
    logs.mkdir(exist_ok=True)
    identity = Identity()
    cloud = Cloud(identity, Progress())
    mark = identity.of_a_run
    if mark.exists():
        print("removing the cloud of a run that was killed", flush=True)
        cloud.down()
    was_up = (identity.state / "settings.json").exists()
    if not was_up and not options.keep:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    try:
        settings = cloud.up(selection.oldest, release, selection.monitoring)
        environment = {**os.environ, **openrc.variables(settings), **_scenario_variables(identity)}
        status = _run(selection, logs, options.skip_preflight, environment)
        if status:
            _collect_logs(identity, logs)
    except CloudError:
        _collect_logs(identity, logs)
        raise
    finally:
        if not was_up and not options.keep:
            cloud.down()
    return status


def _collect_logs(identity: Identity, logs: Path) -> None:
    """Collect logs before the cloud is removed; an error here does not hide the first error."""
    try:
        collect(identity, logs)
    except (CloudError, DockerException, OSError) as error:
        print_error(f"not all logs were collected: {error}")
    print(f"logs and traces of the services and nodes: {logs}", flush=True)


def _scenario_variables(identity: Identity) -> dict[str, str]:
    """Environment variables with the commands of this cloud for scenarios."""
    on_controller = f"docker exec {identity.controller}"
    kill = f"{on_controller} systemctl kill --signal=KILL"
    services = ("nova", "neutron-api", "rabbitmq-server")
    trace = f"sh -c 'cat {TRACES}/$0.jsonl'"
    test_rules = f"sh -c 'promtool test rules {MONITORING_PATH}/$0'"
    return {
        "FUNCTIONAL_KILL_CONDUCTOR": f"{kill} tacker-conductor",
        "FUNCTIONAL_CONDUCTORS": f"{on_controller} {_CONDUCTORS}",
        "FUNCTIONAL_SHOW_TRACE": f"{on_controller} {trace}",
        "FUNCTIONAL_SHOW_LOG": f"{on_controller} journalctl --unit tacker-conductor --output cat",
        "FUNCTIONAL_KILL_SERVICES": "\n".join(f"{kill} {service}" for service in services),
        "FUNCTIONAL_OVN_TRACE": f"{on_controller} ovn-trace",
        "FUNCTIONAL_REFUSED_PACKETS": f"{on_controller} {_REFUSED_PACKETS}",
        "FUNCTIONAL_TEST_RULES": f"{on_controller} {test_rules}",
        "FUNCTIONAL_PLAYBOOKS": f"DEVCLOUD_CONTROLLER={identity.controller} {_RUN_PLAYBOOKS}",
    }


if __name__ == "__main__":
    sys.exit(main())
