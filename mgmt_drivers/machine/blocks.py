"""Our part of a text file that others write to as well: lines between two marker lines."""

import re

_BEGIN = "# BEGIN tacker-mgmt-drivers"
_END = "# END tacker-mgmt-drivers"
_BLOCK = re.compile(rf"^{_BEGIN}$.*?^{_END}$\n?", re.DOTALL | re.MULTILINE)


def without(text: str) -> str:
    """The text of a file without our block."""
    return _BLOCK.sub("", text)


def replaced(text: str, lines: str) -> str:
    """The file's text with these lines, each with its line feed, as our block, at its end."""
    rest = without(text)
    if rest and not rest.endswith("\n"):
        rest += "\n"
    return f"{rest}{_BEGIN}\n{lines}{_END}\n" if lines else rest
