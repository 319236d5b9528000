"""What is printed of an outlook: for a person, for a program, and beside a trace."""

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
from tools.plan import coming
from tools.plan.instances import NEW
from tools.plan.rehearse import Outlook
from tools.timeline.runs import Run, read

_WORDS = {
    "changed": "would change",
    "unchanged": "nothing to do",
    "checked": "checked",
    "depends": "depends",
}
# In a trace a machine is its VDU, and in brackets its VNFC and its addresses.
_NODE = re.compile(r"(?P<vdu>.*) \(VNFC (?P<vnfc>[^,]*), .*\)")

Machine = tuple[str, str]  # VDU, and VNFC where that is known
Key = tuple[str, str, str]  # a phase's title, and a machine: VDU, and VNFC where that is known
Plan = Mapping[str, Any]  # what as_json makes


def as_json(outlook: Outlook) -> Plan:
    """The outlook as objects of JSON: the machines, and a line for each phase on each of them."""
    before, after = _by_vnfc(outlook.before), _by_vnfc(outlook.after)
    machines = [
        {
            "vdu": (before.get(vnfc) or after[vnfc]).vdu,
            "vnfc": vnfc if vnfc in before else "",
            "addresses": sorted(before[vnfc].addresses.values()) if vnfc in before else [],
            "becomes": _fate(vnfc, before, after),
            "lines": [
                {
                    "phase": line.phase,
                    "forecast": line.forecast.outcome,
                    "reason": printable(line.forecast.reason),
                }
                for line in outlook.lines
                if line.node.vnfc_id == vnfc
            ],
        }
        for vnfc in {**before, **after}
    ]
    return {
        "operation": outlook.operation,
        "vnf": outlook.vnf,
        "runs": outlook.runs,
        "machines": machines,
    }


def _by_vnfc(nodes: Sequence[Node]) -> dict[str, Node]:
    return {node.vnfc_id: node for node in nodes}


def _fate(vnfc: str, before: Mapping[str, Node], after: Mapping[str, Node]) -> str:
    if vnfc not in before:
        return "comes"
    if vnfc not in after:
        return "goes"
    return "is replaced" if coming.is_new(after[vnfc].server_id) else "stays"


def table(plan: Plan) -> Iterator[str]:
    """Lines for a person, by machine."""
    yield f"{plan['operation']} of VNF {plan['vnf']}: a dry run, nothing was changed"
    width = max(
        (len(line["phase"]) for machine in plan["machines"] for line in machine["lines"]),
        default=0,
    )
    for machine in plan["machines"]:
        yield ""
        yield f"{_name(machine)} {machine['becomes']}"
        for line in machine["lines"]:
            words, reason = _WORDS[line["forecast"]], line["reason"]
            text = f"  {line['phase']:{width}}  {words:13}  {reason}"
            yield text.rstrip()


def _name(machine: Mapping[str, Any]) -> str:
    if not machine["vnfc"]:
        return f"{machine['vdu']} (new)"
    return f"{machine['vdu']} (VNFC {', '.join([machine['vnfc'], *machine['addresses']])})"


@dataclass(frozen=True)
class Comparison:
    """What was foretold beside what was done.

    ``lines`` show each; ``wrong`` are those that contradict each other.
    """

    lines: Sequence[str]
    wrong: Sequence[str]


def compare(plan: Plan, trace: Path) -> Comparison:
    """Compare a plan with the last operation of its kind in a trace.

    What is foretold to depend may be done or not.

    :raises ClientError: when the trace has no such operation
    """
    runs = [run for run in read(trace) if run.operation == plan["operation"]]
    if plan["vnf"] != NEW:
        runs = [run for run in runs if run.vnf == plan["vnf"]]
    if not runs:
        raise ClientError(f"{trace} has no {plan['operation']} of VNF {plan['vnf']}")
    runs = runs[-plan["runs"] :]
    known = _known(plan, runs)
    done, foretold = _done(runs, known), _foretold(plan, known)
    left = {key: list(outcomes) for key, outcomes in done.items()}
    lines = []
    for key, outcomes in foretold.items():
        for outcome in outcomes:
            actual = _take(left.get(key, []), outcome)
            lines.append(_beside(key, outcome, actual))
    unforeseen = [
        _beside(key, "", outcome)
        for key, outcomes in left.items()
        for outcome in outcomes
        if outcome == "changed"
    ]
    wrong = [f"{_place(key)}: {text}" for key, text in _contradictions(foretold, done)]
    return Comparison([*lines, *unforeseen], wrong)


def _known(plan: Plan, runs: Sequence[Run]) -> set[Machine]:
    """The machines of a plan by their VNFCs, but for those whose successors have other ones.

    Through the v1 API the heal of the whole VNF makes a new stack, and new VNFCs.
    """
    seen = {_machine(record) for run in runs for record in run.bars}
    return {
        (machine["vdu"], machine["vnfc"])
        for machine in plan["machines"]
        if machine["becomes"] != "is replaced" or (machine["vdu"], machine["vnfc"]) in seen
    }


def _foretold(plan: Plan, known: set[Machine]) -> dict[Key, list[str]]:
    found: dict[Key, list[str]] = {}
    for machine in plan["machines"]:
        vdu, vnfc = machine["vdu"], machine["vnfc"]
        for line in machine["lines"]:
            key = (line["phase"], vdu, vnfc if (vdu, vnfc) in known else "")
            found.setdefault(key, []).append(line["forecast"])
    return found


def _done(runs: Sequence[Run], known: set[Machine]) -> dict[Key, list[str]]:
    found: dict[Key, list[str]] = {}
    for record in (record for run in runs for record in run.bars):
        found.setdefault(_key(record, known), []).append(record.outcome)
    return found


def _key(record: Record, known: set[Machine]) -> Key:
    vdu, vnfc = _machine(record)
    return (record.phase, vdu, vnfc if (vdu, vnfc) in known else "")


def _machine(record: Record) -> Machine:
    match = _NODE.fullmatch(record.node)
    return (match["vdu"], match["vnfc"]) if match else (record.node, "")


def _take(outcomes: list[str], wanted: str) -> str:
    """One of the outcomes, that which was foretold if it is among them."""
    if not outcomes:
        return ""
    return outcomes.pop(outcomes.index(wanted) if wanted in outcomes else 0)


def _contradictions(
    foretold: Mapping[Key, Sequence[str]], done: Mapping[Key, Sequence[str]]
) -> Iterator[tuple[Key, str]]:
    for key in {**foretold, **done}:
        said, seen = Counter(foretold.get(key, ())), Counter(done.get(key, ()))
        if said["changed"] > seen["changed"]:
            yield key, "foretold to change, and did not"
        if seen["changed"] > said["changed"] + said["depends"]:
            yield key, "changed, and was not foretold to"


def _beside(key: Key, foretold: str, done: str) -> str:
    said = _WORDS.get(foretold, "-")
    return f"{said:13}  {done or '-':9}  {_place(key)}"


def _place(key: Key) -> str:
    phase, vdu, vnfc = key
    return f"{phase}, {vdu} ({vnfc or 'new'})"


def load(path: Path) -> Plan:
    """A plan that was printed as JSON.

    :raises ClientError: when the file holds none
    """
    try:
        found = json.loads(path.read_text())
    except ValueError as error:
        raise ClientError(f"{path} is no plan: {error}") from error
    if not isinstance(found, dict) or not {"operation", "vnf", "runs", "machines"} <= set(found):
        raise ClientError(f"{path} is no plan: make one with --json")
    return found
