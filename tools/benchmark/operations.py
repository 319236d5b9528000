"""Operations on a cluster of three masters and two workers on the embedded cloud: their costs."""

import argparse
import contextlib
import json
import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tackerclient.v1_0.client import Client

from mgmt_drivers.cluster.modification import NAME
from tools import command
from tools.benchmark import by_kubeadm, results
from tools.benchmark.cpu import Meter
from tools.benchmark.results import Result
from tools.client import certificates, clusters, kubernetes_source, node_faults, stacks, wait
from tools.client.api import V1, V2, Api
from tools.client.config import CHECKOUT, CONFIG, cloud, tacker
from tools.client.errors import ClientError
from tools.client.kubernetes_source import BEFORE, NEWEST, NEWEST_KEY, configured
from tools.client.lcm import Package, Vnf
from tools.client.log import Clock
from tools.client.names import unique
from tools.client.node_faults import MASTER, WORKER, Choice, Site
from tools.client.packages import kubernetes_csar
from tools.client.poll import Outages, keep_asking, poll_api
from tools.client.requests import load_request
from tools.command import output_file, whole
from tools.devcloud import engine
from tools.devcloud.cloud import find_controller
from tools.devcloud.diagnosis import TRACES
from tools.devcloud.identity import Identity
from tools.progress import Progress
from tools.timeline import runs

INSTANTIATE, UPGRADE, TERMINATE = "instantiate", "upgrade", "terminate"
_DAYS_LEFT = 9  # of certificates that are renewed
Occurrence = dict[str, Any]
Act = Callable[[], Occurrence]
_CALM, _CALM_PERIOD, _CALM_LIMIT = 0.7, 5, 180  # share of idle CPUs, for so many seconds; seconds


def _scale(kind: str, aspect: str) -> Callable[[Site], Act]:
    return lambda site: lambda: site.vnf.scale(kind, aspect, 1)


def _heal(choose: Choice, is_dead: bool = False) -> Callable[[Site], Act]:
    """Choose a machine, which takes about a second, and heal it; a dead one loses its power before.

    It is chosen last, since a leader may change while the CPUs become idle.
    """

    def prepare(site: Site) -> Act:
        def act() -> Occurrence:
            (machine,) = choose(site, random.Random(0))  # noqa: S311 - nothing secret
            if is_dead:
                machine.remote.cut_power()
            return site.vnf.heal({"vnfcInstanceId": [machine.vnfc_id]})

        return act

    return prepare


def _modify(params: Callable[[], dict[str, Any]]) -> Callable[[Site], Act]:
    def prepare(site: Site) -> Act:
        body = {"metadata": {NAME: json.dumps(params())}}
        return lambda: site.vnf.modify(body)

    return prepare


def _renew(site: Site) -> Act:
    """Let the certificates be old first: a renewal leaves alone those that are a day old."""
    machines = site.machines()
    masters = [machine.remote for machine in machines if machine.vdu == MASTER]
    workers = [machine.remote for machine in machines if machine.vdu == WORKER]
    certificates.reissue(masters, workers, _DAYS_LEFT)
    return _modify(lambda: {"renew_certificates": True})(site)


# What runs on a cluster, in this order.
_ON_CLUSTER: dict[str, Callable[[Site], Act]] = {
    UPGRADE: _modify(kubernetes_source.upgrade_params),
    "scale-out": _scale("SCALE_OUT", "worker_instance"),
    "scale-in": _scale("SCALE_IN", "worker_instance"),
    "heal-worker": _heal(node_faults.anyone(WORKER)),
    "heal-leader": _heal(node_faults.etcd_leader),
    "heal-holder": _heal(node_faults.virtual_ip_holder),
    "renewal": _renew,
    "rotation": _modify(lambda: {"rotate_encryption_key": True}),
    "heal-dead-leader": _heal(node_faults.etcd_leader, is_dead=True),
    "heal-dead-holder": _heal(node_faults.virtual_ip_holder, is_dead=True),
    "scale-masters-out": _scale("SCALE_OUT", "master_instance"),
    "scale-masters-in": _scale("SCALE_IN", "master_instance"),
}
_NEED_A_NEW_CLUSTER = {INSTANTIATE, UPGRADE, TERMINATE}
OPERATIONS = (INSTANTIATE, *_ON_CLUSTER, TERMINATE)
# The same by kubeadm alone, in this order, and the names of their rows.
_BY_KUBEADM: dict[str, tuple[str, Callable[[by_kubeadm.Cluster], None]]] = {
    INSTANTIATE: ("kubeadm-instantiate", by_kubeadm.Cluster.make),
    UPGRADE: ("kubeadm-upgrade", by_kubeadm.Cluster.upgrade),
    "heal-worker": ("kubeadm-heal-worker", lambda cluster: cluster.heal(cluster.workers[-1])),
    "heal-leader": ("kubeadm-heal-master", lambda cluster: cluster.heal(cluster.masters[-1])),
}
_ROWS = (*OPERATIONS, *(row for row, _ in _BY_KUBEADM.values()))
_DEFAULT = [name for name in OPERATIONS if "dead" not in name and "masters" not in name]


def add_options(parser: command.Parser) -> None:
    parser.add_argument(
        "--operations", nargs="+", choices=OPERATIONS, default=_DEFAULT, metavar="NAME",
        help=f"of {', '.join(OPERATIONS)} (default: {', '.join(_DEFAULT)}). An upgrade begins with "
        f"a cluster of {BEFORE}",
    )
    parser.add_argument(
        "--kubeadm", action="store_true",
        help="instead make a cluster by kubeadm's guides, without Tacker, on machines of the same "
        f"image; of the chosen operations it has {', '.join(_BY_KUBEADM)}",
    )
    parser.add_argument(
        "--repeat", type=whole(0), default=3, metavar="N",
        help="how often each one (default: 3); 0 prints the table of the file alone",
    )
    parser.add_argument(
        "--json", type=output_file, default=CHECKOUT / "build/operations.jsonl", metavar="FILE",
        help="to which the results are appended (default: build/operations.jsonl)",
    )
    command.add_api(parser, "2")


def run(options: argparse.Namespace) -> int:
    """Measure, print a line for each result, and the table.

    :raises ClientError: naming the operation that failed, or the file if it has something else
    """
    results.load(options.json, _ROWS)
    try:
        if options.repeat:
            _check_cloud()
            api = V1() if options.api == V1.version else V2()
            measurement = Measurement(api, options.json)
            measurement.run(options.operations, options.repeat, options.kubeadm)
    finally:  # after Ctrl-C, too
        rows = results.table(results.load(options.json, _ROWS), _ROWS)
        print(*rows, sep="\n", flush=True)
    return command.GOOD


@dataclass
class Probe:
    """What is measured while an operation runs, which began at ``began`` and took ``took`` s."""

    meter: Meter
    readiness: Outages | None
    kept: Outages | None
    began: float
    took: float = 0.0

    def result(
        self, name: str, servers: Collection[str], traced: Sequence[runs.Run] = ()
    ) -> Result:
        """:param servers: those that took part"""
        return Result(
            name, round(self.took, 1), round(self.meter.used(servers), 1), *_costs(traced),
            round(self.readiness.longest, 1) if self.readiness else None,
            len(self.readiness.failures) if self.readiness else None,
            self.kept.most_in_a_row if self.kept else None,
        )


class Measurement:
    """Clusters of the package of an API, and the results, which are appended to a file."""

    def __init__(self, api: Api, path: Path) -> None:
        self._api, self._path, self._progress = api, path, Progress()
        self._connection = cloud()
        self._client: Client = tacker(self._connection, api.version)

    def run(self, chosen: Collection[str], times: int, by_hand: bool = False) -> None:
        """Measure each operation so many times, on as few clusters as the operations allow.

        An operation that fails ends its round; the next round begins with a new cluster.

        :param by_hand: by kubeadm's guides, without Tacker
        :raises ClientError: with the first error of a round, after all rounds
        """
        version = BEFORE if UPGRADE in chosen else CONFIG.kubernetes_version
        is_once = not by_hand and not _NEED_A_NEW_CLUSTER & {*chosen}
        rounds, each = (1, times) if is_once else (times, 1)
        with configured(version), self._removing("package and registry") as cleanup:
            keys = _keys(UPGRADE in chosen)
            registry = self._make_registry(UPGRADE in chosen, cleanup)
            package = None if by_hand else self._onboard(keys, cleanup)
            errors = []
            for number in range(rounds):
                self._progress.say(f"cluster {number + 1} of {rounds}, Kubernetes {version}")
                try:
                    if package:
                        self._round(package, registry, chosen, each)
                    else:
                        self._round_by_hand(registry, chosen)
                except Exception as error:  # whatever it is: the other rounds are worth hours
                    errors.append(f"cluster {number + 1}: {type(error).__name__}: {error}")
                    self._progress.say(errors[-1])
        if errors:
            raise ClientError(errors[0])

    @contextlib.contextmanager
    def _removing(self, what: str) -> Iterator[contextlib.ExitStack]:
        with contextlib.ExitStack() as cleanup:
            try:
                yield cleanup
            finally:
                with self._progress.step(f"remove {what}"):
                    cleanup.close()

    def _make_registry(self, upgrades: bool, cleanup: contextlib.ExitStack) -> str:
        """Make a registry with the images of all series; returns its host and port."""
        with self._progress.step("make the private registry"):
            registry = clusters.private_registry(cleanup)
        for version in (CONFIG.kubernetes_version, *([NEWEST] if upgrades else ())):
            what = f"push the images of Kubernetes {version}"
            with self._progress.step(what), configured(version):
                kubernetes_source.push_images(registry)
        return registry

    def _onboard(self, keys: dict[str, Path], cleanup: contextlib.ExitStack) -> Package:
        with self._progress.step("build and onboard the package"):
            csar = kubernetes_csar(keys, variant=self._api.variant)
            return clusters.onboard(self._client, csar, cleanup)

    def _round(
        self, package: Package, registry: str, chosen: Collection[str], times: int
    ) -> None:
        with self._removing("cluster") as cleanup:
            vnf = clusters.create(self._client, package, "benchmark", self._api, cleanup)
            request = load_request(
                clusters.REQUESTS / "kubernetes/complex.json", self._client,
                **kubernetes_source.source_params(f"http://{registry}"), vim_name=unique("vim"),
                addons=None,  # kubeadm alone has none
            )
            made = self._measure(INSTANTIATE, vnf, lambda: vnf.instantiate(request))
            if INSTANTIATE in chosen:
                self._keep(made)
            site = Site(self._connection, vnf)
            for _ in range(times):
                for name in [name for name in _ON_CLUSTER if name in chosen]:
                    act = _ON_CLUSTER[name](site)
                    self._keep(self._measure(name, vnf, act, site.url))
            if TERMINATE in chosen:
                self._keep(self._measure(TERMINATE, vnf, vnf.terminate))

    def _round_by_hand(self, registry: str, chosen: Collection[str]) -> None:
        with self._removing("machines of kubeadm") as cleanup:
            row, make = _BY_KUBEADM[INSTANTIATE]
            with self._probing(row) as probe:
                cluster = cleanup.enter_context(by_kubeadm.machines(self._connection, registry))
                make(cluster)
            self._keep(probe.result(row, cluster.servers()))
            for name in [name for name in _ON_CLUSTER if name in chosen and name in _BY_KUBEADM]:
                row, act = _BY_KUBEADM[name]
                servers = {*cluster.servers()}
                with self._probing(row, cluster.url) as probe, configured(NEWEST):
                    act(cluster)
                # The polls were work for the CPUs; there is no virtual IP.
                probe.readiness = probe.kept = None
                self._keep(probe.result(row, servers | {*cluster.servers()}))

    def _measure(self, name: str, vnf: Vnf, act: Act, url: str = "") -> Result:
        """Run an operation on a quiet machine.

        :param url: of the API, which is polled; without it the API comes or goes
        """
        before = {server.id for server in stacks.servers(self._connection, vnf.id)}
        with self._probing(name, url) as probe:
            occurrence = act()
        clusters.check_completed(vnf, occurrence)
        after = {server.id for server in stacks.servers(self._connection, vnf.id)}
        return probe.result(name, before | after, _runs(vnf.id, probe.began))

    @contextlib.contextmanager
    def _probing(self, name: str, url: str = "") -> Iterator[Probe]:
        self._await_calm()
        with self._progress.step(name), contextlib.ExitStack() as stack:
            meter = stack.enter_context(Meter().running())
            readiness = stack.enter_context(poll_api(url)).readiness if url else None
            kept = stack.enter_context(keep_asking(url)) if url else None
            probe = Probe(meter, readiness, kept, time.time())
            yield probe
            probe.took = time.time() - probe.began

    def _await_calm(self) -> None:
        """Wait until the operation before has no effects any more, such as pods that start."""

        def look() -> float:
            clock = Clock()
            time.sleep(_CALM_PERIOD)
            return round(clock.read()[1], 2)

        try:
            with self._progress.step("wait for idle CPUs"):
                wait.until(look, lambda idle: idle >= _CALM, _CALM_LIMIT, "idle CPUs")
        except TimeoutError as error:
            self._progress.say(f"{error}; measured all the same")

    def _keep(self, result: Result) -> None:
        """Append a result to the file, and print it."""
        self._progress.say(results.append(self._path, self._api.version, result))


def _keys(upgrades: bool) -> dict[str, Path]:
    """The key of the newest series for an upgrade; the mirror must have both series.

    :raises ClientError: if the mirror lacks one
    """
    try:
        kubernetes_source.repository_key()
        with configured(NEWEST):
            return kubernetes_source.repository_key(NEWEST_KEY) if upgrades else {}
    except OSError as error:
        raise ClientError(
            f"the mirror lacks a series ({error}); on the embedded cloud run k8s-vnf cloud up "
            f"--oldest {BEFORE}"
        ) from error


def _check_cloud() -> None:
    if find_controller(engine.connect(), Identity()) is None:
        raise ClientError(
            "this measures on the embedded cloud of this checkout: run k8s-vnf cloud up --oldest "
            f"{BEFORE}, and eval its openrc"
        )


def _runs(vnf_id: str, began: float) -> list[runs.Run]:
    """What the drivers have traced of a VNF since then; empty if nothing, or no more."""
    controller = find_controller(engine.connect(), Identity())
    path = f"{TRACES}/{vnf_id}.jsonl"
    status, output = controller.exec_run(["cat", path])
    traced = [] if status else runs.parse(output.decode(), path)
    return [each for each in traced if each.start >= began]


def _costs(traced: Sequence[runs.Run]) -> tuple[float | None, float | None, int | None]:
    """Seconds of the drivers, seconds of their critical paths, and SSH commands."""
    if not traced:
        return None, None, None
    return (
        round(sum(each.end - each.start for each in traced), 1),
        round(sum(runs.seconds(each.critical_path) for each in traced), 1),
        sum(bar.commands for each in traced for bar in each.bars),
    )
