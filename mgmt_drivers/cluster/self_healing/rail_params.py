"""The parameter ``automatic_heal``: the limits of heals that nobody typed."""

from dataclasses import dataclass

from mgmt_drivers.params.declaration import MODIFICATION, ObjectOf, param
from mgmt_drivers.params.kinds import Count

NAME = "automatic_heal"


@dataclass(frozen=True)
class Limits:
    """The limits; ``share`` is a percentage of the VNF's machines."""

    share: int = param(
        "share", Count(), default=40, example=25, changed_by=MODIFICATION,
        meaning="the largest percentage of the VNF's machines that may be ill or under repair at "
        "once; one machine always may",
    )
    heals_an_hour: int = param(
        "heals_an_hour", Count(), default=3, example=2, changed_by=MODIFICATION,
        meaning="how many times an hour a VNFC is healed automatically",
    )

    def machines(self, number: int) -> int:
        """The number of machines of a VNF that may be ill or under repair at once."""
        return max(1, number * self.share // 100)


LIMITS = ObjectOf(Limits)
