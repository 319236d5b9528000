"""The command line."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.timeline import page, runs


def main(argv: Sequence[str] | None = None) -> int:
    """0: the page is written; 1: the trace cannot be read or is empty."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.timeline",
        description="Draw the trace of a VNF's operations as a page for a browser.",
    )
    parser.add_argument("trace", type=Path, help="JSON lines from the drivers")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="default: the trace's name with .html"
    )
    parser.add_argument("--last", type=_count, metavar="N", help="only the last N runs")
    arguments = parser.parse_args(argv)
    output = arguments.output or arguments.trace.with_suffix(".html")
    try:
        traced = runs.read(arguments.trace)
        output.write_text(page.render(traced[-arguments.last :] if arguments.last else traced))
    except (OSError, runs.NoTrace) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(output)
    return 0


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
