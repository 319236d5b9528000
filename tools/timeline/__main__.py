"""The command line."""

import sys
from collections.abc import Sequence

from tools import command
from tools.command import existing_file, output_file, whole
from tools.timeline import page, runs


def main(argv: Sequence[str] | None = None) -> int:
    """Draw a trace; returns an exit status."""
    parser = command.parser(
        "python -m tools.timeline", "Draw the trace of a VNF's operations as a page for a browser."
    )
    text = "JSON lines from the drivers"
    parser.add_argument("trace", type=existing_file, metavar="TRACE", help=text)
    parser.add_argument(
        "-o", "--output", type=output_file, metavar="FILE",
        help="default: the trace's name with .html",
    )
    parser.add_argument("--last", type=whole(1), metavar="N", help="only the last N runs")
    arguments = parser.parse_args(argv)
    output = arguments.output or arguments.trace.with_suffix(".html")
    try:
        traced = runs.read(arguments.trace)
        output.write_text(page.render(traced[-arguments.last :] if arguments.last else traced))
    except (OSError, runs.NoTrace) as error:
        print(f"error: {error}", file=sys.stderr)
        return command.UNKNOWN
    print(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
