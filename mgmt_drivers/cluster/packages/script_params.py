"""The parameter ``script_path``: the VNF package's script, and the contract that it declares."""

import re
from pathlib import Path

from mgmt_drivers.params.reader import Reader

# Packages of the first editions declare it by the sentence that followed.
_DECLARATION = re.compile(r"^# Contract: (?:tacker-mgmt-drivers\b|run as root,)", re.MULTILINE)
DECLARATION = "# Contract: tacker-mgmt-drivers"  # the line that a script has
UNDECLARED = (
    f"does not declare the drivers' contract by a line {DECLARATION!r}. The driver gives the "
    "script no arguments but environment variables, and makes the cluster itself; a script that "
    "wants arguments, such as Tacker's sample, would end the operation after the machines exist. "
    "`python -m tools.csar migrate FOLDER` puts the script of vnf_packages/kubernetes in its "
    "place: add to it what yours does on one machine"
)


def declares_contract(script: Path | str) -> bool:
    """Whether a script, given as file or text, is one for these drivers."""
    text = script if isinstance(script, str) else script.read_text(errors="replace")
    return bool(_DECLARATION.search(text))


def read_script(reader: Reader, package: Path, is_new: bool) -> Path:
    """Read the parameter.

    :param is_new: nothing was made with the script yet; one that has made machines goes on
    """
    key = "script_path"
    if not reader.has(key) and reader.usable:
        reader.error(key, "missing")
    script = reader.file(key, package)
    if script and is_new and not declares_contract(script):
        reader.error(key, f"{script.relative_to(package.resolve())} {UNDECLARED}")
    return script or package
