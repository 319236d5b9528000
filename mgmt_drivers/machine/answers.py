"""Answers of machines, checked before they are put into a command or a file.

An attacker on a machine can make it answer anything, even an option for another program.
"""

import re

from mgmt_drivers.errors import MachineUnfit

RELEASE = re.compile(r"v[0-9]+(?:\.[0-9]+){2}(?:[-+][A-Za-z0-9.+-]+)?")
IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}")
DISK = re.compile(r"/dev/disk/by-id/[A-Za-z0-9._:+-]+")
NUMBER = re.compile(r"[0-9]{1,10}")
INTERFACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,14}")  # Linux' IFNAMSIZ
# Kubernetes' documentation, "Object Names and IDs", and "Labels and Selectors".
NODE = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
LABEL_KEY = re.compile(rf"(?:[a-z0-9][a-z0-9.-]{{0,252}}/)?{_LABEL}")
LABEL_VALUE = re.compile(rf"(?:{_LABEL})?")
TAINT_EFFECT = re.compile("NoSchedule|PreferNoSchedule|NoExecute")

_QUOTED = 200  # characters


def checked(text: object, form: re.Pattern[str], what: str) -> str:
    """Return a machine's word if it has the form; raises MgmtDriverError if it is not ``what``."""
    if isinstance(text, str) and form.fullmatch(text):
        return text
    if not isinstance(text, str):
        quoted = f"a value of type {type(text).__name__}"  # the value itself may be long
    else:  # not cut, since half of a secret would not be recognized and masked
        quoted = f"'{text}'" if len(text) <= _QUOTED else f"{len(text)} characters"
    raise MachineUnfit(f"the machine reports {quoted}, which is not {what}")
