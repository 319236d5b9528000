"""Times of the drivers over the times of the same commands by hand, as ratios.

Runs against the cloud of the OS_* variables.
"""

import argparse
import sys

from tools.benchmark import kubernetes, registry, scale

_SUBJECTS = {"registry": registry, "kubernetes": kubernetes, "scale": scale}


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmark", description=__doc__)
    subjects = parser.add_subparsers(required=True, metavar="SUBJECT", dest="subject")
    for name, text in (
        ("registry", "instantiate of the private registry over one script"),
        ("kubernetes", "instantiate of clusters over their critical path"),
        ("scale", "scale-out by many workers over one, on simulated machines"),
    ):
        subject = subjects.add_parser(name, help=text, description=text)
        subject.add_argument("--rounds", type=int, default=3, help="how many (default: 3)")
    options = parser.parse_args()
    _SUBJECTS[options.subject].run(options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
