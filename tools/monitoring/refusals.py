"""Automatic heals that a guard rail of the driver has refused, and that Tacker keeps open."""

from collections.abc import Callable, Iterable

from mgmt_drivers.cluster.self_healing.rails import REFUSED
from tools.client.lcm import Vnf


def end_refused(vnfs: Iterable[Vnf], say: Callable[[str], None]) -> list[str]:
    """End the refused heals of VNF instances as failed, and return what is wrong.

    A refused heal has changed nothing, and is FAILED_TEMP: while it is, Tacker begins no other
    operation on the instance. The occurrence keeps the refusal.
    """
    faults = []
    for vnf in vnfs:
        try:
            for listed in vnf.occurrences()[-1:]:
                if listed["operationState"] != "FAILED_TEMP":
                    continue
                shown = vnf.occurrence(listed["id"])  # a list has no errors
                if REFUSED in shown.get("error", {}).get("detail", ""):
                    vnf.fail(shown)
                    say(f"ended operation {shown['id']}: {shown['error']['detail']}")
        except Exception as error:  # of Tacker or Keystone; the next may do
            faults.append(f"VNF {vnf.name or vnf.id}: a refused heal cannot be ended: {error}")
    return faults
