"""The drivers' part of a text file that other programs also write: a block between two markers."""

import re

_BEGIN = "# BEGIN tacker-mgmt-drivers"
_END = "# END tacker-mgmt-drivers"
_BLOCK = re.compile(rf"^{_BEGIN}$.*?^{_END}$\n?", re.DOTALL | re.MULTILINE)


def without(text: str) -> str:
    return _BLOCK.sub("", text)


def replaced(text: str, lines: str) -> str:
    """The text with lines, each with its line feed, as the block at its end; none removes it."""
    rest = without(text)
    if rest and not rest.endswith("\n"):
        rest += "\n"
    return f"{rest}{_BEGIN}\n{lines}{_END}\n" if lines else rest
