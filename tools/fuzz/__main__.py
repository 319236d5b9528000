"""Try the properties of parameters on random requests for a while, until one does not hold."""

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mgmt_drivers.testing.properties import Properties, make
from mgmt_drivers.testing.rendered import Broken
from tools import command
from tools.command import minutes, whole

_PAUSE = 10.0  # seconds between lines of progress
_DESCRIPTION = """\
Random requests, made of the examples of parameters and changed in a few places. Each is refused
with errors that begin with the path of a parameter and quote no secret, or is taken: then the JSON
schema takes the request, too, and each rendered file parses back to the values that went in.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """0: every property held; 1: one did not."""
    arguments = _parser().parse_args(argv)
    seed = random.randrange(10**6) if arguments.seed is None else arguments.seed  # noqa: S311
    start = shown = time.monotonic()
    limit = 60 * arguments.minutes if arguments.inputs is None else None
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        properties = Properties(Path(folder))
        for number in itertools.count(arguments.first):
            now = time.monotonic()
            tried = number - arguments.first
            is_end = tried == arguments.inputs or (limit is not None and now - start >= limit)
            if is_end or now - shown >= _PAUSE:
                shown = now
                _show(now - start, tried, properties)
            if is_end:
                return 0
            given = make(f"{seed}/{number}")
            try:
                properties.check(given)
            except Broken as broken:
                print(f"\nFOUND: {broken}\n\nby this input:\n{given}\n")
                print(f"Repeat: python -m tools.fuzz --seed {seed} --first {number} --inputs 1")
                return 1
    return 0


def _show(seconds: float, tried: int, properties: Properties) -> None:
    counts = properties.outcomes.most_common()
    shares = ", ".join(f"{count / (tried or 1):.0%} {outcome}" for outcome, count in counts)
    print(f"{seconds:7.1f} s  {tried} inputs: {shares}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = command.parser("python -m tools.fuzz", _DESCRIPTION)
    parser.add_argument("--minutes", type=minutes, default=1, metavar="N", help="how long (1)")
    parser.add_argument(
        "--inputs", type=whole(1), metavar="N", help="how many, in place of --minutes"
    )
    text = "the same inputs for the same seed (any)"
    parser.add_argument("--seed", type=command.free_text, metavar="S", help=text)
    parser.add_argument(
        "--first", type=whole(0), default=0, metavar="N", help="number of the first (0)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
