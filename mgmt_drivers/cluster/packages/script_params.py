"""The parameter ``script_path``: the VNF package's script, and the contract that it declares."""

import re
from pathlib import Path

from mgmt_drivers.params.kinds import PackageFile
from mgmt_drivers.params.reader import Reader

DECLARATION = "# Contract: tacker-mgmt-drivers"  # the line that a script has
UNDECLARED = (
    f"does not declare the drivers' contract by a line {DECLARATION!r}. The driver gives the "
    "script no arguments but environment variables, and makes the cluster itself; a script that "
    "wants arguments, such as Tacker's sample, would fail when the machines exist already. "
    "`k8s-vnf package migrate FOLDER` puts the script of vnf_packages/kubernetes in its "
    "place: add to it what yours does on one machine"
)


def declares_contract(script: Path | str) -> bool:
    """Whether a script, given as file or text, is one for these drivers."""
    text = script if isinstance(script, str) else script.read_text(errors="replace")
    return bool(re.search(rf"^{DECLARATION}\b", text, re.MULTILINE))


class Script(PackageFile):
    """A script that declares the contract; one that has made machines before goes on."""

    def check(self, path: Path, reader: Reader) -> None:
        if reader.context.is_new and not declares_contract(path):
            name = path.relative_to(reader.context.package.resolve())
            reader.refuse(f"{name} {UNDECLARED}")
