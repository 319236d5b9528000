"""Results of measured operations, a line of JSON each in a file, and their table.

A run that is stopped has its results, and a later run adds to them.
"""

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from tools.client.errors import ClientError


@dataclass(frozen=True)
class Result:
    """One run of an operation; times are seconds.

    ``drivers``: of the drivers' part, ``path``: of its critical path, ``commands``: over SSH; None
    if there is no trace. ``silence``: the longest time for which the API was not ready, ``failed``:
    requests of a client that connects anew, ``in_a_row``: of a client with keep-alive; None if the
    API comes or goes.
    """

    operation: str
    seconds: float
    cpu: float
    drivers: float | None = None
    path: float | None = None
    commands: int | None = None
    silence: float | None = None
    failed: int | None = None
    in_a_row: int | None = None


# The columns of the table besides the name and the number of runs.
_TITLES = {
    "seconds": "seconds", "drivers": "drivers", "path": "critical path", "cpu": "CPU seconds",
    "commands": "SSH commands", "silence": "silence", "failed": "failed", "in_a_row": "in a row",
}


def append(path: Path, api: str, result: Result) -> str:
    """Append a result to the file; returns its line."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = json.dumps({"at": at, "api": api, **asdict(result)})
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(f"{line}\n")
    return line


def load(path: Path, operations: Sequence[str]) -> list[Result]:
    """The results in a file, if it is there.

    :param operations: those that the file may have
    :raises ClientError: if the file has something else
    """
    names = [field.name for field in fields(Result)]
    lines = path.read_text().splitlines() if path.exists() else []
    try:
        found = [Result(*(line[name] for name in names)) for line in map(json.loads, lines)]
        for result in found:
            operations.index(result.operation)
    except (ValueError, KeyError, TypeError) as error:
        raise ClientError(f"{path} is no file of results: {error!r}") from error
    return found


def table(results: Sequence[Result], operations: Sequence[str]) -> list[str]:
    """The lines of a table in reStructuredText: medians, and the least and the most beside them."""
    rows = [["operation", "runs", *_TITLES.values()]]
    for name in sorted({each.operation for each in results}, key=operations.index):
        own = [each for each in results if each.operation == name]
        cells = [_spread([getattr(each, column) for each in own]) for column in _TITLES]
        rows.append([name, str(len(own)), *cells])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    line = "  ".join("=" * width for width in widths)
    head, *others = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return [line, head, line, *others, line] if others else []


def _spread(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    median, least, most = (_number(f(known)) for f in (statistics.median, min, max))
    return median if least == most else f"{median} ({least} to {most})"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if value < 10 else f"{value:.0f}"
