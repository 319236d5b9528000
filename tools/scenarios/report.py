"""The report at the end of a run of scenarios: the results of groups, and the long steps."""

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

_LONG_STEP = 10.0  # seconds
# The line of a finished scenario in stestr's output: group, outcome, and seconds unless skipped.
_ENDED = re.compile(
    r"^\{\d+\} \S*\btest_(?P<group>\w+)\.\w+\.\w+ (?:\[(?P<seconds>[\d.]+)s\] )?"
    r"\.\.\. (?P<outcome>ok|FAILED|SKIPPED)",
    re.MULTILINE,
)


def print_report(folders: Sequence[Path], seconds: float, idle: float) -> None:
    """Print both tables.

    :param folders: folders of the lanes, with stestr.log and steps.jsonl; missing files of an
        interrupted lane are left out
    :param seconds: time of the whole run
    :param idle: idle share of this machine's CPUs during the run
    """
    _print_groups(_texts(folder / "stestr.log" for folder in folders))
    _print_long_steps(_texts(folder / "steps.jsonl" for folder in folders), seconds, idle)
    sys.stdout.flush()


def _texts(files: Iterable[Path]) -> list[str]:
    return [path.read_text(errors="replace") for path in files if path.exists()]


def _print_groups(outputs: Sequence[str]) -> None:
    seconds, outcomes = defaultdict[str, float](float), Counter[tuple[str, str]]()
    for match in _ENDED.finditer("\n".join(outputs)):
        group = match["group"]
        seconds[group] += float(match["seconds"] or 0)
        outcomes[group, match["outcome"]] += 1
    print("\nseconds  passed  failed  skipped  group")
    for group in sorted(seconds):
        passed, failed, skipped = (outcomes[group, word] for word in ("ok", "FAILED", "SKIPPED"))
        print(f"{seconds[group]:7.1f}  {passed:6}  {failed:6}  {skipped:7}  {group}")


def _print_long_steps(lines: Sequence[str], seconds: float, idle: float) -> None:
    """Print the long steps, with the idle share of this machine's CPUs during each."""
    steps = [json.loads(line) for text in lines for line in text.splitlines()]
    print(f"\nseconds  CPUs idle  step of {_LONG_STEP:.0f} s or more")
    for step in [*steps, {"seconds": seconds, "idle": idle, "step": "all"}]:
        if step["seconds"] >= _LONG_STEP:
            print(f"{step['seconds']:7.1f}  {step['idle']:8.0%}   {step['step']}")
