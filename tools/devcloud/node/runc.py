#!/usr/bin/python3
"""runc for hosts that give containers no CAP_SYS_RESOURCE; elsewhere it is plain runc.

Without that capability nothing may lower its oom_score_adj, which kubelet asks
for each pod, nor may a capability be passed on that one does not have.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

REAL = "/usr/sbin/runc.real"
_CAPABILITY = "CAP_SYS_RESOURCE"
_NUMBER = 24  # of that capability, in linux/capability.h


def main(arguments: list[str]) -> None:
    if not _is_capable():
        if {"create", "run"} & set(arguments):
            bundle = Path(_option(arguments, "--bundle", "-b") or ".")
            _edit(bundle / "config.json", lambda config: _lower(config["process"]))
        process = _option(arguments, "--process", "-p") if "exec" in arguments else None
        if process:
            _edit(Path(process), _lower)
    os.execv(REAL, [REAL, *arguments])  # noqa: S606 - what this program is for


def _is_capable() -> bool:
    status = Path("/proc/self/status").read_text()
    bounding = next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd"))
    return bool(int(bounding, 16) >> _NUMBER & 1)


def _option(arguments: list[str], *names: str) -> str | None:
    for number, word in enumerate(arguments):
        if word in names:
            return arguments[number + 1]
        if word.startswith(f"{names[0]}="):
            return word.partition("=")[2]
    return None


def _edit(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    config = json.loads(path.read_text())
    change(config)
    path.write_text(json.dumps(config))


def _lower(process: dict[str, Any]) -> None:
    process.pop("oomScoreAdj", None)
    for names in (process.get("capabilities") or {}).values():
        if _CAPABILITY in names:
            names.remove(_CAPABILITY)


if __name__ == "__main__":
    main(sys.argv[1:])
