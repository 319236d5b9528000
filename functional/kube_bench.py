"""kube-bench on nodes: the results by part of the CIS benchmark, and the items that fail."""

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.client.config import CONFIG
from tools.client.log import log, step
from tools.client.machines import Remote

_VERSION, _BENCHMARK = "0.8.0", "cis-1.9"
_PUBLISHED = (
    f"https://github.com/aquasecurity/kube-bench/releases/download/v{_VERSION}"
    f"/kube-bench_{_VERSION}_linux_$(dpkg --print-architecture).tar.gz"
)
_ON_MASTER = ("master", "etcd", "controlplane", "node", "policies")
_ON_WORKER = ("node",)
_BY_DESIGN = Path(__file__).with_name("kube_bench.csv")  # the guide shows the file


@dataclass(frozen=True)
class Part:
    """The results of one part; ``failed`` has the descriptions of items by their numbers."""

    name: str
    passed: int
    failed: Mapping[str, str]
    warned: int

    def __str__(self) -> str:
        numbers = f"{self.passed:3} pass, {len(self.failed):3} fail, {self.warned:3} warn"
        items = "".join(f"\n  {number} {text}" for number, text in self.failed.items())
        return f"{self.name:<12} {numbers}{items}"


def check(master: Remote, worker: Remote) -> None:
    """Run kube-bench on a node of each kind, and show the results.

    :raises AssertionError: unless exactly the items fail that fail by design
    """
    with step("run kube-bench"):
        compare([*_run(master, _ON_MASTER), *_run(worker, _ON_WORKER)])


def compare(parts: Iterable[Part]) -> None:
    """Compare the items that failed with the items that fail by design.

    :raises AssertionError: with the items that differ
    """
    failed = {number: text for part in parts for number, text in part.failed.items()}
    listed = by_design()
    new = [f"{number} {text}" for number, text in failed.items() if number not in listed]
    mended = [number for number in listed if number not in failed]
    assert not new, f"kube-bench: items fail that {_BY_DESIGN.name} does not list: {new}"
    assert not mended, f"kube-bench: items of {_BY_DESIGN.name} do not fail: {mended}"


def by_design() -> list[str]:
    """The numbers of the items that fail by design."""
    with _BY_DESIGN.open(newline="") as file:
        return [row["Item"] for row in csv.DictReader(file)]


def read(output: str) -> list[Part]:
    """The results in the output of ``kube-bench --json``."""
    return [
        Part(
            part["node_type"],
            part["total_pass"],
            {
                item["test_number"]: item["test_desc"]
                for section in part["tests"]
                for item in section["results"]
                if item["status"] == "FAIL"
            },
            part["total_warn"],
        )
        for part in json.loads(output)["Controls"]
    ]


def _run(machine: Remote, targets: tuple[str, ...]) -> list[Part]:
    mirror = CONFIG.kubernetes_mirror
    url = f"{mirror}/kube-bench.tar.gz" if mirror else _PUBLISHED
    fetch = f"curl --silent --show-error --fail --location --retry 3 {url}"
    machine.run(f"mkdir -p kube-bench && {fetch} | tar --extract --gzip --directory kube-bench")
    output = machine.run(
        "cd kube-bench && sudo env KUBECONFIG=/etc/kubernetes/admin.conf ./kube-bench run "
        f"--benchmark {_BENCHMARK} --targets {','.join(targets)} --json"
    )
    parts = read(output)
    log("\n".join([f"kube-bench on {machine.address}", *map(str, parts)]))
    assert tuple(part.name for part in parts) == targets, "a part of the benchmark is missing"
    return parts
