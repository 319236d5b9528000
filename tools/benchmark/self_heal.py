"""Random faults on a cluster that heals itself: times to detect and to heal, and what went wrong.

Each fault is a line of JSON in a file, so that a run that is stopped has its results. A run whose
seed is given strikes in the same order; the machines are drawn from those that there are.
"""

import argparse
import contextlib
import json
import random
import statistics
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from openstack.connection import Connection
from tackerclient.common.exceptions import TackerClientException
from tackerclient.v1_0.client import Client

from tools.client import clusters, kubernetes_source, monitoring, node_faults, wait
from tools.client.api import V2
from tools.client.config import CHECKOUT, CONFIG, cloud, tacker
from tools.client.errors import ClientError
from tools.client.kept_objects import KeptObjects
from tools.client.lcm import Vnf
from tools.client.monitoring import Prometheus
from tools.client.names import unique
from tools.client.node_faults import FAULTS, HARMLESS, MASTER, WORKER, Fault, Machine, Site
from tools.client.packages import image_overlay, kubernetes_csar
from tools.client.poll import poll_api
from tools.client.requests import load_request
from tools.client.self_heal import Watch, error_of, is_refused, seconds, strangers, vnfcs_of
from tools.command import free_text, output_file, whole

_SWITCH = "isAutohealEnabled"
_HEAL_LIMIT, _CALM_LIMIT, _NODES_LIMIT, _HELP_LIMIT = 900, 600, 300, 1800  # seconds
# Seconds after a harmless fault in which a heal would begin: a reboot has three minutes.
_QUIET = 240
_GOAL = 300  # seconds: the median of the times to heal
# The rail "share of machines" counts those that are ill, and those healed so short a time ago.
_RECENT, _SHARE = 300, 0.4  # seconds; of all machines
# Each VNFC has more faults than in years of operation.
_LIMITS = {"heals_an_hour": 60}


@dataclass
class Result:
    """The outcome of a fault; times are seconds from the fault.

    ``whole``: all nodes are ready. ``silence``: the longest time for which the API was not ready.
    ``wrong``: VNFCs of heals, which nothing had struck. ``refused``: heals that a guard rail held.
    ``error``: why somebody had to help, or what could not be measured.
    """

    fault: str
    machines: list[str] = field(default_factory=list)
    detected: float | None = None
    begun: float | None = None
    ended: float | None = None
    whole: float | None = None
    silence: float = 0.0
    written: int = 0
    lost: int = 0
    wrong: list[str] = field(default_factory=list)
    refused: int = 0
    error: str = ""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--faults", type=whole(0), default=8, metavar="N", help="how many (default: 8)"
    )
    parser.add_argument(
        "--calm", type=whole(0), default=0, metavar="MINUTES",
        help="then reboot machines and cut their network for a moment, for so long: no heal may "
        "follow (default: 0)",
    )
    parser.add_argument("--seed", type=whole(0), help="that of an earlier run, to repeat it")
    parser.add_argument(
        "--vnf-instance", type=free_text, metavar="NAME-OR-ID",
        help="a cluster of the v2 API that heals itself (isAutohealEnabled, the parameter "
        "monitoring), with automatic_heal.heals_an_hour for all of the faults (default: one is "
        "made, and removed at the end). Its machines are struck",
    )
    parser.add_argument(
        "--output", type=output_file, default=CHECKOUT / "build/self-heal.jsonl", metavar="FILE",
        help="to which the results are appended (default: build/self-heal.jsonl)",
    )


def run(options: argparse.Namespace) -> int:
    """Strike, print a line for each fault and the table; 0 if the goals are reached."""
    if missing := monitoring.why_missing():
        raise ClientError(f"{missing}. Run k8s-vnf cloud up --monitoring, and eval its openrc")
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)  # noqa: S311
    print(f"seed {seed}; results in {options.output}", flush=True)
    results: list[Result] = []
    connection = cloud()
    client = tacker(connection, "2")
    with contextlib.ExitStack() as cleanup:
        vnf = cleanup.enter_context(_cluster(client, connection, options.vnf_instance))
        folder = Path(CONFIG.monitoring)
        monitoring.write_files(folder)
        cleanup.enter_context(monitoring.kept_up_to_date(folder))
        try:
            for result in Run(Site(connection, vnf), seed).results(options):
                _write(options.output, seed, result)
                results.append(result)
        finally:  # after Ctrl-C, too
            print("\n".join(table(results)), flush=True)
    return int(not is_good(results))


class Run:
    """Faults on one cluster, one after another."""

    def __init__(self, site: Site, seed: int) -> None:
        self._site, self._seed = site, seed
        self._chance = random.Random(seed)  # noqa: S311 - nothing secret
        self._prometheus = Prometheus(CONFIG.prometheus)
        self._size = len(site.machines())
        self._objects = KeptObjects(site.url, site.machines(MASTER)[0].remote)
        self._healed: list[float] = []  # when a machine was healed, in seconds since 1970
        self._known = {occurrence["id"] for occurrence in site.vnf.occurrences()}
        self._failures = 0  # in a row

    def results(self, options: argparse.Namespace) -> Iterator[Result]:
        """Strike, and give a result after each fault."""
        try:
            self._await_calm()
            for fault in node_faults.sequence(FAULTS, options.faults, self._seed):
                self._await_room(fault)
                yield self._strike(fault)
            end = time.monotonic() + 60 * options.calm
            while time.monotonic() < end:
                yield self._strike(self._chance.choice(HARMLESS))
        finally:
            with contextlib.suppress(ClientError):  # it does not hide the first error
                self._objects.delete()

    def _await_room(self, fault: Fault) -> None:
        """Wait until the rail "share of machines" lets a heal of the struck machines through."""
        room = max(0, int(self._size * _SHARE) - fault.most)
        newest = sorted(self._healed, reverse=True)
        if len(newest) > room:
            time.sleep(max(0.0, newest[room] + _RECENT - time.time()))

    def _strike(self, fault: Fault) -> Result:
        """Strike, and go on when all is calm.

        :raises ClientError: if the last three faults in a row ended badly
        """
        if self._failures > 2:
            raise ClientError("three faults in a row ended badly: see the errors of their results")
        result, machines = Result(fault.name), list[Machine]()
        with _noting(result):
            machines += fault.choose(self._site, self._chance)
            result.machines = [str(machine) for machine in machines]
            self._measure(fault, result, machines)
        with _noting(result):
            self._settle(result, machines)
        with _noting(result):
            self._account(result, machines if fault.heals else [])
        self._failures = self._failures + 1 if result.error else 0
        return result

    def _measure(self, fault: Fault, result: Result, machines: Sequence[Machine]) -> None:
        with self._objects.writing(), poll_api(self._site.url) as seen:
            watch = Watch(self._site.vnf, self._prometheus)
            try:
                with fault.strike(self._site, machines):
                    if fault.heals:
                        self._await_heal(result, watch, machines)
                    else:
                        time.sleep(_QUIET)
            finally:
                result.silence = round(seen.readiness.longest, 1)

    def _await_heal(self, result: Result, watch: Watch, machines: Sequence[Machine]) -> None:
        times = watch.await_heal(machines, _HEAL_LIMIT)
        result.detected = times.detected and round(times.detected, 1)
        result.begun, result.ended = round(times.begun, 1), round(times.ended, 1)
        self._await_nodes()
        result.whole = round(time.time() - watch.began, 1)

    def _settle(self, result: Result, machines: Sequence[Machine]) -> None:
        """Wait until nothing is under way or ill, or do what an operator does."""
        if not result.error:
            with _noting(result):
                self._await_calm()
                return
        what, struck = f"a heal of {result.machines}", {machine.server_id for machine in machines}
        wait.until(lambda: self._help(struck), lambda refusal: not refusal, _HELP_LIMIT, what)
        self._await_calm()

    def _help(self, struck: Collection[str]) -> str:
        """Ask for a heal of the servers that are still there; returns why it is to be tried again.

        Tacker may have begun one at the same time.
        """
        vnf = self._site.vnf
        try:
            for occurrence in vnf.occurrences():
                if occurrence["operationState"] == "FAILED_TEMP":
                    vnf.fail(occurrence)
            present = {vnfc["computeResource"]["resourceId"]: vnfc["id"] for vnfc in vnf.vnfcs()}
            ids = [vnfc for server, vnfc in present.items() if server in struck]
            outcome = vnf.heal({"vnfcInstanceId": ids}) if ids else {}
        except TackerClientException as error:
            return str(error)
        return error_of(outcome)

    def _account(self, result: Result, struck: Sequence[Machine]) -> None:
        """Note what Tacker has done of its own accord since the fault before."""
        done = Watch(self._site.vnf, self._prometheus, known=self._known).occurrences()
        self._known |= {occurrence["id"] for occurrence in done}
        result.wrong, result.refused = strangers(done, struck), sum(map(is_refused, done))
        for occurrence in done:
            if occurrence["operationState"] == "COMPLETED":
                ended = seconds(occurrence["stateEnteredTime"])
                self._healed += [ended] * len(vnfcs_of(occurrence))
        lost = wait.until(self._objects.try_lost, lambda seen: seen is not None, 60, "the objects")
        result.lost, result.written = len(lost or ()), self._objects.written

    def _await_calm(self) -> None:
        """Wait until no operation runs, all nodes are ready and no alert fires.

        :raises TimeoutError: naming what was seen last
        """
        clusters.await_operations(self._site.vnf)
        nodes = self._await_nodes()
        self._prometheus.await_calm(self._site.vnf.id, nodes, _CALM_LIMIT)

    def _await_nodes(self) -> Collection[str]:
        ready = [True] * self._size
        return wait.until(
            self._objects.nodes, lambda seen: [*seen.values()] == ready, _NODES_LIMIT, "the nodes"
        )


@contextlib.contextmanager
def _noting(result: Result) -> Iterator[None]:
    """Note an error, whatever it is: one missed answer must not cost the results to come."""
    try:
        yield
    except Exception as error:
        result.error = result.error or f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def _cluster(client: Client, connection: Connection, name: str | None) -> Iterator[Vnf]:
    """The cluster of the name or id, or one that is made, and removed at the end."""
    if name:
        yield _find(client, name)
        return
    with contextlib.ExitStack() as cleanup:
        registry = clusters.private_registry(cleanup)
        kubernetes_source.push_images(registry)
        image = CONFIG.prepared_image
        overlays = [image_overlay(image, [MASTER, WORKER])] if image else []
        csar = kubernetes_csar(None, overlays, V2.variant)
        package = clusters.onboard(client, csar, cleanup)
        vnf = clusters.create(client, package, "self-heal", V2(), cleanup)
        request = load_request(
            clusters.REQUESTS / "kubernetes/complex.json", client,
            **kubernetes_source.source_params(f"http://{registry}"),
            vim_name=unique("vim"), monitoring={}, automatic_heal=_LIMITS,
        )
        clusters.check_completed(vnf, vnf.instantiate(request))
        clusters.check_completed(vnf, vnf.modify({"vnfConfigurableProperties": {_SWITCH: True}}))
        yield vnf


def _find(client: Client, name: str) -> Vnf:
    for vnf in Vnf.all(client, V2()):
        if name in (vnf.id, vnf.name):
            if vnf.show().get("vnfConfigurableProperties", {}).get(_SWITCH) is not True:
                raise ClientError(
                    f"{name} does not heal itself: set vnfConfigurableProperties.{_SWITCH} to true"
                )
            return vnf
    raise ClientError(f"there is no VNF instance {name} in Tacker's v2 API")


def _write(path: Path, seed: int, result: Result) -> None:
    """Append a result to the file, and print it."""
    line = json.dumps({"seed": seed, "at": round(time.time()), **asdict(result)})
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(f"{line}\n")
    print(line, flush=True)


def table(results: Sequence[Result]) -> list[str]:
    """The results by kind of fault, and a row for all of them."""
    titles = " ".join(f"{title:>14}" for title in ("detected", "healed after", "silence"))
    rows = [f"{'faults':>6} {'healed':>6} {titles}  kind"]
    for kind in dict.fromkeys(result.fault for result in results):
        rows.append(_row([result for result in results if result.fault == kind], kind))
    rows.append(_row(results, "all"))
    # Each result counts the objects from the beginning of the run.
    lost = max((result.lost for result in results), default=0)
    written = max((result.written for result in results), default=0)
    wrong = sum(len(result.wrong) for result in results)
    helped = sum(bool(result.error) for result in results)
    refused = sum(result.refused for result in results)
    rows.append(
        f"seconds are median and worst; {lost} of {written} objects lost, "
        f"{wrong} wrong heals, {refused} refused by a guard rail, {helped} faults after which "
        "somebody helped"
    )
    return rows + [f"  {result.fault}: {result.error}" for result in results if result.error]


def is_good(results: Sequence[Result]) -> bool:
    """Whether nothing was lost, nobody helped, no heal was wrong, and the median is good."""
    healed = [result.whole for result in results if result.whole is not None]
    return not any(result.lost or result.wrong or result.error for result in results) and (
        not healed or statistics.median(healed) <= _GOAL
    )


def _row(results: Sequence[Result], kind: str) -> str:
    healed = sum(result.whole is not None for result in results)
    parts = (
        _spread(result.detected for result in results),
        _spread(result.whole for result in results),
        _spread(result.silence for result in results),
    )
    return f"{len(results):6} {healed:6} {' '.join(f'{part:>14}' for part in parts)}  {kind}"


def _spread(values: Iterable[float | None]) -> str:
    """Median and worst."""
    known = [value for value in values if value is not None]
    return f"{statistics.median(known):.1f} {max(known):.1f}" if known else "-"

