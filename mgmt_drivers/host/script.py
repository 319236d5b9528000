"""Shell payloads, which run on a machine without being stored there."""

from dataclasses import dataclass
from pathlib import Path

from mgmt_drivers import payloads

_FOLDER = Path(payloads.__file__).parent


@dataclass(frozen=True)
class Script:
    """The file of that name in :mod:`mgmt_drivers.payloads`, which says what its arguments are.

    The name stands for the script in logs and errors.
    """

    name: str

    def command(self, *arguments: str) -> tuple[str, ...]:
        text = (_FOLDER / f"{self.name}.sh").read_text()
        interpreter = text.partition("\n")[0].rpartition("/")[2]
        return (interpreter, "-c", text, self.name, *arguments)
