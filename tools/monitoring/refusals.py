"""Operations that Tacker keeps open: heals that a guard rail has refused, and others."""

from collections.abc import Callable, Iterable

from mgmt_drivers.cluster.self_healing.rails import REFUSED
from tools.client.lcm import Vnf

_OPEN = (
    "operation {id} ({operation}) is FAILED_TEMP: nothing is healed or scaled until it is ended. "
    "Remove the cause that `openstack --os-tacker-api-version 2 vnflcm op show {id}` tells, then "
    "end the operation by vnflcm retry, rollback or fail"
)


def end_refused(vnfs: Iterable[Vnf], say: Callable[[str], None]) -> list[str]:
    """End the refused heals of VNF instances as failed, and return what is wrong.

    A refused heal has changed nothing, and is FAILED_TEMP: while it is, Tacker begins no other
    operation on the instance. The occurrence keeps the refusal. Other operations that are
    FAILED_TEMP, whoever began them, may have changed something: they are wrong until a person ends
    them.
    """
    faults = []
    for vnf in vnfs:
        name = f"VNF {vnf.name or vnf.id}"
        try:
            for listed in vnf.occurrences()[-1:]:
                if listed["operationState"] != "FAILED_TEMP":
                    continue
                shown = vnf.occurrence(listed["id"])  # a list has no errors
                if REFUSED in shown.get("error", {}).get("detail", ""):
                    vnf.fail(shown)
                    say(f"ended operation {shown['id']}: {shown['error']['detail']}")
                elif shown["operationState"] == "FAILED_TEMP":
                    faults.append(f"{name}: {_OPEN.format(**shown)}")
        except Exception as error:  # of Tacker or Keystone; the next may do
            faults.append(f"{name}: a refused heal cannot be ended: {error}")
    return faults
