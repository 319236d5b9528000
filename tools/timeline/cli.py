"""The command line."""

import argparse
from collections.abc import Iterator

from tools import command
from tools.command import existing_file, output_file, whole
from tools.timeline import page, runs


def parsers() -> Iterator[command.Parser]:
    text = "Draw the trace of a VNF's operations as a page for a browser."
    parser = command.part("timeline", text, _draw)
    text = "JSON lines from the drivers"
    parser.add_argument("trace", type=existing_file, metavar="TRACE", help=text)
    parser.add_argument(
        "-o", "--output", type=output_file, metavar="FILE",
        help="default: the trace's name with .html",
    )
    parser.add_argument("--last", type=whole(1), metavar="N", help="only the last N runs")
    yield parser


def _draw(arguments: argparse.Namespace) -> int:
    """Draw a trace; returns an exit status."""
    output = arguments.output or arguments.trace.with_suffix(".html")
    traced = runs.read(arguments.trace)[-(arguments.last or 0) :]
    output.write_text(page.render(traced))
    print(*map(page.limits, traced), output, sep="\n")
    return 0

