"""Measures the drivers on simulated machines; self-heal and operations: clusters on a cloud."""

import signal
import sys

from tools import command
from tools.benchmark import commands, kills, operations, scale, self_heal
from tools.client.errors import ClientError
from tools.command import whole
from tools.devcloud.errors import CloudError


def main() -> int:
    parser = command.parser("python -m tools.benchmark", __doc__)
    subjects = parser.add_subparsers(required=True, metavar="SUBJECT", dest="subject")
    text = "count the SSH commands of operations, and the files and functions that they enter"
    subjects.add_parser("commands", help=text, description=text)
    text = "compare the scale-out of many workers with that of one"
    subject = subjects.add_parser("scale", help=text, description=text)
    subject.add_argument("--rounds", type=whole(1), default=3, metavar="N", help="default: 3")
    text = "kill operations at each command, ask for other operations, and look at the cluster"
    subject = subjects.add_parser("kills", help=text, description=text)
    subject.add_argument(
        "--step", type=whole(1), default=1, metavar="N", help="kill at each Nth (default: 1)"
    )
    text = "strike a cluster that heals itself by random faults, on a cloud with Prometheus"
    self_heal.add_options(subjects.add_parser("self-heal", help=text, description=text))
    text = "measure operations on clusters of three masters and two workers on the embedded cloud"
    operations.add_options(subjects.add_parser("operations", help=text, description=text))
    options = parser.parse_args()
    on_cloud = {"self-heal": self_heal.run, "operations": operations.run}
    if options.subject in on_cloud:
        # A job of a shell's background ignores SIGINT; the end removes what was made.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(command.UNKNOWN))
        try:
            return on_cloud[options.subject](options)
        except (ClientError, CloudError, TimeoutError) as error:
            print(f"{options.subject}: {error}", file=sys.stderr)
            return command.UNKNOWN
    if options.subject == "kills":
        return min(kills.run(options.step), 1)
    if options.subject == "commands":
        commands.run()
    else:
        scale.run(options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
