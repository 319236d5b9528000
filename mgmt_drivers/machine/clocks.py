"""The clock of a machine."""

import re
from dataclasses import dataclass

from mgmt_drivers.machine import answers
from mgmt_drivers.machine.host import Host

_TIME = re.compile(r"[0-9]{1,12}(?:[.][0-9]{1,9})?")


@dataclass(frozen=True)
class Offset:
    """How many seconds a clock is ahead of this process's, and how far that may be wrong."""

    seconds: float
    tolerance: float


def offset(host: Host) -> Offset:
    """Ask a machine for its time, which it tells at some moment of the round trip."""
    before = host.clock.time()
    shown = host.run("date", "+%s.%N").strip()
    after = host.clock.time()
    told = float(answers.checked(shown, _TIME, "a time"))
    return Offset(told - (before + after) / 2, (after - before) / 2)
