"""The command line: try inputs for a while, and show the first finding."""

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tools.fuzz.attack import ACCEPTED, MISPLACED, REFUSED, Attack
from tools.fuzz.meaning import Finding

_BATCH = 250  # inputs
_PAUSE = 2.0  # seconds between lines of progress

_DESCRIPTION = """\
Try mutated requests on the drivers. Each is refused with errors that begin with the path of a
parameter, or accepted; nothing else may be raised. Each accepted request is carried out on
simulated machines, one in five clusters is also scaled out or healed there; every file and command
is parsed and compared with what the parameters say. HAProxy's configuration is shown to haproxy
where that is installed.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """0: nothing was found; 1: a finding."""
    arguments = _parser().parse_args(argv)
    limit = 60 * arguments.minutes if arguments.minutes else None
    if limit is None and arguments.inputs is None:
        limit = 60.0
    first = random.randrange(10**6) if arguments.seed is None else arguments.seed  # noqa: S311
    with tempfile.TemporaryDirectory() as folder:
        return _Run(first, limit, arguments.inputs).carry_out(Path(folder))


class _Run:
    """Batches of inputs, each with a seed of its own, until a limit or a finding."""

    def __init__(self, first: int, limit: float | None, inputs: int | None) -> None:
        self._seed, self._limit, self._inputs = first, limit, inputs
        self._start = self._shown = time.monotonic()

    def carry_out(self, folder: Path) -> int:
        print(f"seed {self._seed}", flush=True)
        attack = Attack(folder, progress=self._progress)
        status = 0
        try:
            attack.learn()
            while count := self._next_batch(attack):
                attack.run(self._seed, count)
                self._seed += 1
        except Finding as finding:
            status = 1
            print(f"\nFOUND: {finding}\n\nby this input:\n{attack.failing}\n")
            print(f"Repeat: python -m tools.fuzz --seed {self._seed} --inputs {_BATCH}")
        except KeyboardInterrupt:
            print("interrupted")
        self._show(attack)
        return status

    def _next_batch(self, attack: Attack) -> int:
        """How many inputs the next batch has; none at the end."""
        if self._limit is not None and time.monotonic() - self._start >= self._limit:
            return 0
        left = _BATCH if self._inputs is None else self._inputs - attack.tried
        return min(left, _BATCH)

    def _progress(self, attack: Attack) -> None:
        if time.monotonic() - self._shown >= _PAUSE:
            self._show(attack)

    def _show(self, attack: Attack) -> None:
        self._shown = time.monotonic()
        tried = attack.tried
        shares = [
            f"{attack.outcomes[outcome] / (tried or 1):.0%} {outcome}"
            for outcome in (ACCEPTED, REFUSED, MISPLACED)
        ]
        seconds = self._shown - self._start
        print(f"{seconds:7.1f} s  {tried} inputs: {', '.join(shares)}", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fuzz",
        description=_DESCRIPTION,
        epilog="Ctrl-C shows what was done so far. The exit status is 1 after a finding, else 0.",
    )
    parser.add_argument(
        "--minutes", type=float, metavar="N", help="how long (default: 1, unless --inputs is given)"
    )
    parser.add_argument("--inputs", type=int, metavar="N", help="how many inputs at most")
    parser.add_argument(
        "--seed", type=int, metavar="S", help="the same inputs for the same number (default: any)"
    )
    return parser
