"""Shell scripts of the drivers, which run on a machine without being stored there."""

from importlib import resources


class Script:
    """A script beside the module that uses it; the script says what its arguments are.

    Read once, with the module that uses it: an upgrade of the drivers beneath a running
    conductor must not mix the two. The name stands for the script in logs and errors.
    """

    def __init__(self, package: str | None, name: str) -> None:
        """:param package: the module's ``__package__``"""
        self._name = name
        self._text = (resources.files(package or "") / f"{name}.sh").read_text()
        self._interpreter = self._text.partition("\n")[0].rpartition("/")[2]

    @property
    def text(self) -> str:
        """The script itself, for those that a machine keeps and runs by itself."""
        return self._text

    def command(self, *arguments: str) -> tuple[str, ...]:
        return (self._interpreter, "-c", self._text, self._name, *arguments)
