"""Operations that Tacker begins of its own accord, and their times."""

import contextlib
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from mgmt_drivers.cluster.self_healing.rails import REFUSED
from tools.client import wait
from tools.client.errors import ClientError
from tools.client.lcm import FINAL_STATES, Vnf
from tools.client.monitoring import Prometheus
from tools.client.node_faults import Machine

Occurrence = dict[str, Any]


@dataclass(frozen=True)
class Times:
    """Seconds from a fault to the first alert, and to begin and end of Tacker's operations.

    Prometheus' and Tacker's clocks tell them. ``detected`` is None if the alert was not seen.
    """

    detected: float | None
    begun: float
    ended: float

    def __str__(self) -> str:
        detected = "?" if self.detected is None else f"{self.detected:.0f} s"
        return f"detected after {detected}, begun {self.begun:.0f} s, ended {self.ended:.0f} s"


class Watch:
    """The operations that nobody asked for since the watch began, and the first alert.

    :param function: of the alerts, auto_heal or auto_scale
    :param known: ids of operations that are not watched; default: of all that there are
    """

    def __init__(
        self, vnf: Vnf, prometheus: Prometheus, function: str = "auto_heal",
        known: Collection[str] | None = None,
    ) -> None:
        self._vnf, self._prometheus, self._function = vnf, prometheus, function
        present = {occurrence["id"] for occurrence in vnf.occurrences()}
        self._known = present if known is None else {*known}
        self.began = time.time()
        self._detected: float | None = None

    def occurrences(self) -> list[Occurrence]:
        """The operations, the oldest first, with their errors and parameters."""
        return [
            self._vnf.occurrence(occurrence["id"])
            for occurrence in automatic(self._vnf.occurrences(), self._known)
        ]

    def await_operation(self, operation: str, limit: float) -> Occurrence:
        """Wait for the end of the first operation of a kind.

        :param limit: seconds
        :raises TimeoutError: if there is none, or it has not ended
        """

        def look() -> Occurrence:
            self._note_alert()
            own = [o for o in self.occurrences() if o["operation"] == operation]
            return own[0] if own else {"operationState": "none yet"}

        what = f"{operation} of {self._vnf.name}, which nobody has asked for"
        return wait.until(look, lambda o: o["operationState"] in FINAL_STATES, limit, what)

    def await_heal(self, machines: Sequence[Machine], limit: float) -> Times:
        """Wait until each of the machines has a successor, by one heal or several.

        A heal that a guard rail has refused is no failure: Alertmanager asks for it again.

        :raises ClientError: if a heal has failed; the error is the operation's
        :raises TimeoutError: if a machine is still there
        """
        lost = {machine.server_id for machine in machines}

        def look() -> tuple[set[str], list[str]]:
            self._note_alert()
            heals = [heal for heal in self.occurrences() if not is_refused(heal)]
            for heal in heals:
                if heal["operationState"] in FINAL_STATES - {"COMPLETED"}:
                    raise ClientError(f"{heal['operationState']}: {error_of(heal)}")
            present = {vnfc["computeResource"]["resourceId"] for vnfc in self._vnf.vnfcs()}
            return lost & present, [heal["operationState"] for heal in heals]

        def healed(seen: tuple[set[str], list[str]]) -> bool:
            return not seen[0] and set(seen[1]) == {"COMPLETED"}

        wait.until(look, healed, limit, f"successors of {', '.join(map(str, machines))}")
        heals = [heal for heal in self.occurrences() if not is_refused(heal)]
        return self.times([heal for heal in heals if seconds(heal["startTime"]) >= self.began - 1])

    def times(self, occurrences: Sequence[Occurrence]) -> Times:
        """The times of operations that have ended, from the beginning of the watch."""
        return Times(
            None if self._detected is None else self._detected - self.began,
            min(seconds(o["startTime"]) for o in occurrences) - self.began,
            max(seconds(o["stateEnteredTime"]) for o in occurrences) - self.began,
        )

    def _note_alert(self) -> None:
        if self._detected is not None:
            return
        with contextlib.suppress(ClientError):  # it is asked again, and an alert is only a time
            alerts = self._prometheus.alerts(self._vnf.id, self._function)
            fired = [seconds(alert["activeAt"]) for alert in alerts]
            # The alert of a fault before may not have ended.
            self._detected = min((at for at in fired if at >= self.began - 1), default=None)


def automatic(occurrences: Sequence[Occurrence], known: Collection[str]) -> list[Occurrence]:
    """The occurrences that are not known, and that no client has asked for (SOL003 5.5.2.13)."""
    return [o for o in occurrences if o["id"] not in known and o.get("isAutomaticInvocation")]


def is_refused(occurrence: Occurrence) -> bool:
    """Whether a guard rail of the drivers has refused the operation, which has changed nothing."""
    return REFUSED in error_of(occurrence)


def vnfcs_of(occurrence: Occurrence) -> list[str]:
    """The ids of the VNFCs of a heal, if its request has any."""
    return [*occurrence.get("operationParams", {}).get("vnfcInstanceId", ())]


def strangers(occurrences: Sequence[Occurrence], machines: Sequence[Machine]) -> list[str]:
    """The ids of VNFCs of heals that no rail refused, and that were not of the machines struck."""
    struck = {machine.vnfc_id for machine in machines}
    heals = [o for o in occurrences if o["operation"] == "HEAL" and not is_refused(o)]
    return [id_ for heal in heals for id_ in vnfcs_of(heal) if id_ not in struck]


def error_of(occurrence: Occurrence) -> str:
    return str(occurrence.get("error", {}).get("detail", ""))


def seconds(text: str) -> float:
    """Seconds since 1970 of a time in UTC, as Tacker and Prometheus write it; whole ones."""
    return datetime.fromisoformat(text[:19]).replace(tzinfo=timezone.utc).timestamp()
