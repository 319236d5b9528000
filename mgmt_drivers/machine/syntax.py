"""Values in the syntax of configuration files: escaped, or refused.

No value becomes another line, option or command of its file, even if a reader let it pass.
"""

import re

from mgmt_drivers.errors import Unexpected
from mgmt_drivers.grammar import IN_QUOTES

_PRINTABLE = re.compile(r"[ -~]*")  # ASCII
_WORD = re.compile(r"[A-Za-z0-9/._:-]+")


def words(*texts: str) -> str:
    """Words of a line; raises MgmtDriverError if one has others than letters, digits, ``/._:-``."""
    for text in texts:
        if not _WORD.fullmatch(text):
            raise Unexpected(f"{text!a} cannot stand in a configuration file")
    return " ".join(texts)


def variable(name: str, value: str) -> str:
    """A line for shells and systemd alike; raises MgmtDriverError, which hides the value."""
    _check_printable(name, value)
    return f'{name}="{value.translate(IN_QUOTES)}"\n'


def apt_option(name: str, value: str) -> str:
    """A line of apt.conf(5), which cannot escape a quote; an error does not quote the value."""
    _check_printable(name, value)
    if '"' in value or "\\" in value:
        raise Unexpected(f"the value of {name} cannot stand in apt.conf: it has a quote")
    return f'{words(name)} "{value}";\n'


def toml(text: str) -> str:
    """A basic string of TOML 1.0; raises MgmtDriverError if it is not printable ASCII."""
    _check_printable("a string", text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _check_printable(name: str, value: str) -> None:
    if not _PRINTABLE.fullmatch(value):
        raise Unexpected(
            f"the value of {name} cannot be written to a file: it has characters other than "
            "printable ASCII"
        )
