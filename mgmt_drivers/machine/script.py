"""Shell scripts of the drivers, which run on a machine without being stored there."""

from importlib import resources


class Script:
    """A script in the folder of the module that uses it; the script describes its arguments.

    The script is read when its module is imported: an upgrade of the drivers under a running
    conductor must not mix two versions. Logs and errors show the name instead of the text.
    """

    def __init__(self, package: str | None, name: str) -> None:
        """:param package: the module's ``__package__``"""
        self._name = name
        self.text = (resources.files(package or "") / f"{name}.sh").read_text()
        self._interpreter = self.text.partition("\n")[0].rpartition("/")[2]

    def command(self, *arguments: str) -> tuple[str, ...]:
        return (self._interpreter, "-c", self.text, self._name, *arguments)
