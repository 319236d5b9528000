"""Stop what is not wanted any more on a machine."""

from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change
from mgmt_drivers.machine.host import Host


class StopUnits(Change[object, Sequence[str]]):
    """Stop systemd units, now and for later boots; their files stay."""

    title = "stop units"

    def __init__(self, *units: str) -> None:
        self._units = units

    def look(self, host: Host, context: object) -> Sequence[str] | None:
        return [u for u in self._units if host.ask("systemctl", "is-active", "-q", u).ok] or None

    def act(self, host: Host, context: object, running: Sequence[str]) -> None:
        host.sudo("systemctl", "disable", "--quiet", "--now", *running)
