"""Looks for known vulnerabilities of what is installed beside this program (pip-audit).

The data are PyPI's. If PyPI cannot be reached, the audit is left out and says so.
"""

import subprocess
import sys
from collections.abc import Sequence

import requests

from tools import command

# A release of which vulnerabilities are known: a mirror may answer and have no such data.
_DATA = "https://pypi.org/pypi/pip/20.0/json"
_LIMIT = 10  # seconds for PyPI to answer
_AUDIT = (
    sys.executable, "-m", "pip_audit", "--local", "--skip-editable", "--progress-spinner", "off"
)


def audit(data: str = _DATA, program: Sequence[str] = _AUDIT) -> int:
    """Run the audit; returns an exit status."""
    reason = _unreachable(data)
    if reason:
        print(f"the audit for known vulnerabilities is LEFT OUT: {reason}")
        return command.UNKNOWN
    return subprocess.run(program, check=False).returncode


def _unreachable(data: str) -> str:
    """Why vulnerabilities cannot be asked for; empty if they can."""
    try:
        answer = requests.get(data, timeout=_LIMIT)
        answer.raise_for_status()
        return "" if answer.json().get("vulnerabilities") else f"{data} tells of none"
    except requests.RequestException as error:
        return str(error)


if __name__ == "__main__":
    command.parser("python -m tools.audit", __doc__).parse_args()
    sys.exit(audit())
