"""What a plan is."""

from collections.abc import Sequence
from typing import Any

from mgmt_drivers.phases.phase import Phase

Plan = Sequence[Phase[Any]]
