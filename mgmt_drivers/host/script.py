"""Shell text that runs on a machine."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Script:
    """A few lines of shell, which get arguments; ``name`` stands for them in logs and errors."""

    name: str
    text: str
    interpreter: str = "sh"

    def command(self, *arguments: str) -> tuple[str, ...]:
        return (self.interpreter, "-c", self.text, self.name, *arguments)
