"""Operations that are killed at each command, and the operations that somebody asks for then."""

import logging
import tempfile
from pathlib import Path

from mgmt_drivers.errors import MgmtDriverError
from mgmt_drivers.testing.kills import STORIES, VERSION, kills
from mgmt_drivers.testing.simulated_cloud import PARAMS, SimulatedCloud


def run(step: int) -> int:
    """Print a row for each operation and a line for each bad ending; returns their number."""
    logging.disable(logging.CRITICAL)
    total = 0
    print("kills   bad  operation")
    for name in STORIES:
        bad = []
        with tempfile.TemporaryDirectory() as folder:
            cloud = SimulatedCloud(Path(folder))
            cloud.params = {**PARAMS, **VERSION}
            count = 0
            for told, end in kills(cloud, name, step):
                count += 1
                try:
                    end()
                except (AssertionError, MgmtDriverError) as error:
                    bad.append(f"  {told}: {error}")
        print(f"{count:5} {len(bad):5}  {name}", *bad, sep="\n" if bad else "", flush=True)
        total += len(bad)
    return total
