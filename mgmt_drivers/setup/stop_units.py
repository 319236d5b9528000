"""Stop what is not wanted any more on a machine."""

from collections.abc import Sequence

from mgmt_drivers.engine.phase import Change
from mgmt_drivers.machine.host import Host


class StopUnits(Change[object, Sequence[str]]):
    """Stop systemd units, which no boot starts any more; their files stay.

    :param what: what the units do, for the title
    """

    def __init__(self, what: str, *units: str) -> None:
        self.title, self._units = f"stop {what}", units

    def look(self, host: Host, context: object) -> Sequence[str] | None:
        """The units that run."""
        words = ("systemctl", "is-active", "--quiet")
        return [unit for unit in self._units if host.ask(*words, unit).ok] or None

    def describe(self, running: Sequence[str]) -> str:
        return ", ".join(running)

    def act(self, host: Host, context: object, running: Sequence[str]) -> None:
        host.sudo("systemctl", "disable", "--quiet", "--now", *running)
