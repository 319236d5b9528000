"""The clock of a machine."""

import re
from dataclasses import dataclass

from mgmt_drivers.machine import answers
from mgmt_drivers.machine.host import Host

_TIME = re.compile(r"[0-9]{1,12}(?:[.][0-9]{1,9})?")


@dataclass(frozen=True)
class Offset:
    """The seconds by which a clock is ahead of this process's clock, and the tolerance."""

    seconds: float
    tolerance: float


def read_offset(host: Host) -> Offset:
    """Ask a machine for its time; the tolerance is half of the round trip."""
    before = host.clock.time()
    text = host.run("date", "+%s.%N").strip()
    after = host.clock.time()
    time = float(answers.checked(text, _TIME, "a time"))
    return Offset(time - (before + after) / 2, (after - before) / 2)
