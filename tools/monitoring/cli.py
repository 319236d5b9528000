"""The command line of the files for Prometheus and Alertmanager."""

import argparse
import functools
import sys
import time
from collections.abc import Iterator

from openstack.connection import Connection

from tools import command
from tools.client import stacks
from tools.client.config import cloud, tacker
from tools.client.errors import ClientError
from tools.client.lcm import Vnf
from tools.monitoring.folder import Folder
from tools.monitoring.refusals import end_refused
from tools.monitoring.update import Updater

_PAUSE = 5  # seconds between two looks at Tacker


def _write(options: argparse.Namespace) -> int:
    """Write the files; returns an exit status."""
    try:
        return _watch(options) if options.watch else _once(options)
    except KeyboardInterrupt:
        return 0 if options.watch else 130


def parsers() -> Iterator[command.Parser]:
    parser = command.part(
        "monitoring",
        "Write the files by which Prometheus and Alertmanager watch clusters, and have "
        "Tacker heal and scale them: targets, rules, alertmanager.yml, and an example of "
        "prometheus.yml. Tacker is that of OS_CLOUD or OS_*; the clusters are of its v2 API.",
        _write,
    )
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--vnf-instance", type=command.free_text, action="append", default=[], metavar="NAME-OR-ID",
        help="a cluster; may be given again",
    )
    which.add_argument(
        "--all", action="store_true",
        help="all clusters with isAutohealEnabled or isAutoscaleEnabled, or the parameter "
        "monitoring",
    )
    parser.add_argument(
        "--watch", action="store_true",
        help=f"look again every {_PAUSE} s, until Ctrl-C; write what has changed, remove the "
        "targets of clusters that are gone, end heals that a guard rail has refused, and name "
        "other operations that are FAILED_TEMP",
    )
    text = "Tacker as Alertmanager reaches it"
    parser.add_argument("--tacker", type=command.free_text, metavar="URL", help=text)
    parser.add_argument(
        "--replace", action="store_true",
        help="replace the rules, alertmanager.yml and prometheus.yml, if they differ",
    )
    parser.add_argument(
        "folder", type=command.output_folder, metavar="FOLDER", help="where the files are"
    )
    yield parser


class _Session:
    """A login to the cloud, and the folder."""

    def __init__(self, options: argparse.Namespace) -> None:
        connection = cloud()
        self._client = tacker(connection, "2")
        self._folder = Folder(options.folder, say)
        self._folder.configure(options.tacker or _tacker_url(connection), options.replace)
        read = functools.partial(stacks.named_addresses, connection)
        self._updater = Updater(self._folder, options.vnf_instance, read)

    def update(self, ends_refused: bool = False) -> list[str]:
        vnfs = Vnf.all(self._client)
        faults = self._updater.update(vnfs)
        if ends_refused:
            monitored = {*self._folder.vnf_ids()}
            faults += end_refused((vnf for vnf in vnfs if vnf.id in monitored), say)
        return faults


def _tacker_url(connection: Connection) -> str:
    url = connection.endpoint_for("nfv-orchestration")
    if not url:
        raise ClientError("Keystone's catalog has no nfv-orchestration: name Tacker by --tacker")
    return str(url)


def _once(options: argparse.Namespace) -> int:
    try:
        faults = _Session(options).update()
    except Exception as error:
        print(f"monitoring: the files cannot be made: {error}", file=sys.stderr)
        return command.UNKNOWN
    for fault in faults:
        print(f"monitoring: {fault}", file=sys.stderr)
    return int(bool(faults))


def _watch(options: argparse.Namespace) -> int:
    """Bring the files up to date again and again, whether Tacker answers or not."""
    session, before = None, [""]
    while True:
        try:
            session = session or _Session(options)
            faults = session.update(ends_refused=True)
        except Exception as error:
            faults = [f"Tacker or Heat does not answer; the files stay as they are: {error}"]
        if faults != before:
            for fault in faults:
                print(f"monitoring: {fault}", file=sys.stderr, flush=True)
            if not faults:
                say("all is up to date")
        before = faults
        time.sleep(_PAUSE)


def say(text: str) -> None:
    print(f"monitoring: {text}", flush=True)
