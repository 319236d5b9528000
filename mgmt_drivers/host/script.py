"""Shell payloads, which run on a machine without being stored there."""

from pathlib import Path

from mgmt_drivers import payloads

_FOLDER = Path(payloads.__file__).parent


class Script:
    """The file of that name in :mod:`mgmt_drivers.payloads`, which says what its arguments are.

    Read once, with the module that uses it: an upgrade of the drivers beneath a running
    conductor must not mix the two. The name stands for the script in logs and errors.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._text = (_FOLDER / f"{name}.sh").read_text()
        self._interpreter = self._text.partition("\n")[0].rpartition("/")[2]

    @property
    def text(self) -> str:
        """The script itself, for those that a machine keeps and runs by itself."""
        return self._text

    def command(self, *arguments: str) -> tuple[str, ...]:
        return (self._interpreter, "-c", self._text, self._name, *arguments)
