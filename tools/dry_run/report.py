"""The output of a dry run: as a table, as JSON, and compared with a trace."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mgmt_drivers.engine.trace import Record
from mgmt_drivers.errors import printable
from mgmt_drivers.inventory import Node
from tools.client.errors import ClientError
from tools.dry_run import new_machines
from tools.dry_run.instances import NEW
from tools.dry_run.operations import Result
from tools.timeline.runs import Run, read

_WORDS = {
    "changed": "would change",
    "unchanged": "nothing to do",
    "checked": "checked",
    "depends": "depends",
}
# A machine in a trace: its VDU, and in brackets its VNFC and its addresses.
_NODE = re.compile(r"(?P<vdu>.*) \(VNFC (?P<vnfc>[^,]*), .*\)")

Machine = tuple[str, str]  # VDU, and VNFC or empty
Key = tuple[str, str, str]  # title of a phase, VDU, and VNFC or empty
Report = Mapping[str, Any]  # the result of as_json


def as_json(result: Result) -> Report:
    """The result in JSON types: the machines, and a line for each phase on each machine."""
    before, after = _by_vnfc(result.before), _by_vnfc(result.after)
    machines = [
        {
            "vdu": (before.get(vnfc) or after[vnfc]).vdu,
            "vnfc": vnfc if vnfc in before else "",
            "addresses": sorted(before[vnfc].addresses.values()) if vnfc in before else [],
            "becomes": _fate(vnfc, before, after),
            "lines": [
                {
                    "phase": line.phase,
                    "prediction": line.prediction.outcome,
                    "reason": printable(line.prediction.reason),
                }
                for line in result.lines
                if line.node.vnfc_id == vnfc
            ],
        }
        for vnfc in {**before, **after}
    ]
    return {
        "operation": result.operation,
        "vnf": result.vnf,
        "runs": result.runs,
        "machines": machines,
    }


def _by_vnfc(nodes: Sequence[Node]) -> dict[str, Node]:
    return {node.vnfc_id: node for node in nodes}


def _fate(vnfc: str, before: Mapping[str, Node], after: Mapping[str, Node]) -> str:
    if vnfc not in before:
        return "comes"
    if vnfc not in after:
        return "goes"
    return "is replaced" if new_machines.is_new(after[vnfc].server_id) else "stays"


def text(report: Report) -> str:
    return "\n".join(table(report))


def table(report: Report) -> Iterator[str]:
    """The lines of a readable table, by machine."""
    yield f"{report['operation']} of VNF {report['vnf']}: a dry run, nothing was changed"
    width = max(
        (len(line["phase"]) for machine in report["machines"] for line in machine["lines"]),
        default=0,
    )
    for machine in report["machines"]:
        yield ""
        yield f"{_name(machine)} {machine['becomes']}"
        for line in machine["lines"]:
            words, reason = _WORDS[line["prediction"]], line["reason"]
            text = f"  {line['phase']:{width}}  {words:13}  {reason}"
            yield text.rstrip()


def _name(machine: Mapping[str, Any]) -> str:
    if not machine["vnfc"]:
        return f"{machine['vdu']} (new)"
    return f"{machine['vdu']} (VNFC {', '.join([machine['vnfc'], *machine['addresses']])})"


@dataclass(frozen=True)
class Comparison:
    """Predictions compared with outcomes.

    ``lines`` show all pairs; ``wrong`` are the contradictions.
    """

    lines: Sequence[str]
    wrong: Sequence[str]


def compare(report: Report, trace: Path) -> Comparison:
    """Compare a report with the last operation of the same name in a trace.

    The prediction "depends" fits any outcome.

    :raises ClientError: if the trace has no such operation
    """
    runs = [run for run in read(trace) if run.operation == report["operation"]]
    if report["vnf"] != NEW:
        runs = [run for run in runs if run.vnf == report["vnf"]]
    if not runs:
        raise ClientError(f"{trace} has no {report['operation']} of VNF {report['vnf']}")
    runs = runs[-report["runs"] :]
    known = _known(report, runs)
    done, predicted = _done(runs, known), _predicted(report, known)
    left = {key: list(outcomes) for key, outcomes in done.items()}
    lines = []
    for key, outcomes in predicted.items():
        for outcome in outcomes:
            actual = _take(left.get(key, []), outcome)
            lines.append(_beside(key, outcome, actual))
    unpredicted = [
        _beside(key, "", outcome)
        for key, outcomes in left.items()
        for outcome in outcomes
        if outcome == "changed"
    ]
    wrong = [f"{_place(key)}: {text}" for key, text in _contradictions(predicted, done)]
    return Comparison([*lines, *unpredicted], wrong)


def _known(report: Report, runs: Sequence[Run]) -> set[Machine]:
    """The machines of a report whose VNFC id is the same before and after the operation.

    Through the v1 API the heal of the whole VNF makes a new stack, and new VNFCs.
    """
    traced = {_machine(record) for run in runs for record in run.bars}
    return {
        (machine["vdu"], machine["vnfc"])
        for machine in report["machines"]
        if machine["becomes"] != "is replaced" or (machine["vdu"], machine["vnfc"]) in traced
    }


def _predicted(report: Report, known: set[Machine]) -> dict[Key, list[str]]:
    predictions: dict[Key, list[str]] = {}
    for machine in report["machines"]:
        vdu, vnfc = machine["vdu"], machine["vnfc"]
        for line in machine["lines"]:
            key = (line["phase"], vdu, vnfc if (vdu, vnfc) in known else "")
            predictions.setdefault(key, []).append(line["prediction"])
    return predictions


def _done(runs: Sequence[Run], known: set[Machine]) -> dict[Key, list[str]]:
    outcomes: dict[Key, list[str]] = {}
    for record in (record for run in runs for record in run.bars):
        outcomes.setdefault(_key(record, known), []).append(record.outcome)
    return outcomes


def _key(record: Record, known: set[Machine]) -> Key:
    vdu, vnfc = _machine(record)
    return (record.phase, vdu, vnfc if (vdu, vnfc) in known else "")


def _machine(record: Record) -> Machine:
    match = _NODE.fullmatch(record.node)
    return (match["vdu"], match["vnfc"]) if match else (record.node, "")


def _take(outcomes: list[str], predicted: str) -> str:
    """Remove and return the predicted outcome, or else the first; empty if there is none."""
    if not outcomes:
        return ""
    return outcomes.pop(outcomes.index(predicted) if predicted in outcomes else 0)


def _contradictions(
    predicted: Mapping[Key, Sequence[str]], done: Mapping[Key, Sequence[str]]
) -> Iterator[tuple[Key, str]]:
    for key in {**predicted, **done}:
        expected, actual = Counter(predicted.get(key, ())), Counter(done.get(key, ()))
        if expected["changed"] > actual["changed"]:
            yield key, "predicted to change, and did not"
        if actual["changed"] > expected["changed"] + expected["depends"]:
            yield key, "changed, and was not predicted to"


def _beside(key: Key, predicted: str, done: str) -> str:
    words = _WORDS.get(predicted, "-")
    return f"{words:13}  {done or '-':9}  {_place(key)}"


def _place(key: Key) -> str:
    phase, vdu, vnfc = key
    return f"{phase}, {vdu} ({vnfc or 'new'})"


def load(path: Path) -> Report:
    """Load a report that was printed as JSON.

    :raises ClientError: if the file is not a report
    """
    try:
        report = json.loads(path.read_text())
    except ValueError as error:
        raise ClientError(f"{path} is not a report: {error}") from error
    if not isinstance(report, dict) or not {"operation", "vnf", "runs", "machines"} <= set(report):
        raise ClientError(f"{path} is not a report: make a report with -o json")
    return report
