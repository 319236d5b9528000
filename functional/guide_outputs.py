"""Outputs in the guide: recorded by a run of the scenarios, compared by every other run."""

import difflib
import functools
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tools.client.config import CHECKOUT, CONFIG
from tools.client.log import log

_OUTPUTS = CHECKOUT / "doc" / "source" / "outputs"
_RECORDED_WITH = "1.37"
_COLUMNS = 86
# Values that differ from run to run, each with its placeholder in the comparison.
_PLACEHOLDERS = {
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": "ID",
    r"\b(master|worker)-[0-9a-f]{12}\b": r"\1-ID",
    r"\b\d+\.\d+\.\d+\.\d+\b": "ADDRESS",
    r"\bv\d+\.\d+\.\d+\b": "VERSION",
    r"(?m)\b\d+( \(\w+ ago\))? +(\d+[dhms])+$": "RESTARTS AGE",
    r"\b(\d+[dhms])+\b": "AGE",
    r"\bcompute-\d+\b": "HOST",
    r"\b(nova|az-\d+)\b": "ZONE",
    r"\b\d+( of \d+)? MiB\b": "SIZE",
    r"-{3,}": "---",
    r"\b[a-z0-9]{12}\b": "MEMBER",  # of a group in Heat
    r"\b(vim|scenario)-\w+": "NAME",
}


def compare(name: str, command: str, output: str) -> None:
    """Compare the words of a command's output, in any order, with the output in the guide.

    Other series of Kubernetes print other columns: only the series of the recording is compared.

    :raises AssertionError: with the difference
    """
    path = _OUTPUTS / f"{name}.txt"
    seen = f"$ {command}\n{output.rstrip()}\n" if command else f"{output.rstrip()}\n"
    if CONFIG.record:
        path.write_text(seen)
        log(f"recorded for the guide: {path.name}")
        return
    if not CONFIG.kubernetes_mirror or CONFIG.kubernetes_version != _RECORDED_WITH:
        log(f"{path.name} is not compared: the guide has that of Kubernetes {_RECORDED_WITH}")
        return
    recorded, found = _normalized(path.read_text()), _normalized(seen)
    if recorded != found:
        difference = difflib.unified_diff(recorded, found, "the guide", "this run", lineterm="")
        lines = "\n".join(difference)
        raise AssertionError(
            f"the output differs from the guide's {path.name}; FUNCTIONAL_RECORD=1 records "
            f"the new one:\n{lines}"
        )


def compare_openstack(
    name: str, words: Sequence[str], placeholders: Mapping[str, str] | None = None
) -> str:
    """Compare what OpenStack's client prints; returns that.

    :param placeholders: what the guide has in the command, such as VNF-INSTANCE-ID, by what is
        really there
    """
    seen = _openstack(words)
    shown = ["openstack", *words]
    for really, placeholder in (placeholders or {}).items():
        shown = [word.replace(really, placeholder) for word in shown]
    compare(name, _folded(shown), seen)
    return seen


def compare_instance(name: str, vnf_id: str, key: str, *paths: str) -> None:
    """Compare a list of the instantiatedVnfInfo that Tacker shows of an instance.

    In the guide jq picks it out.

    :param paths: the only values that are shown of each entry, such as computeResource.resourceId
    """
    words = ["vnflcm", "show", vnf_id, "-f", "json", "-c", "Instantiated Vnf Info"]
    entries = json.loads(_openstack(words))["Instantiated Vnf Info"][key]
    words[2] = "VNF-INSTANCE-ID"
    shown = _folded(["openstack", *words]) + _jq(f'."Instantiated Vnf Info".{key}[]')
    if paths:
        shown += _jq("[" + ", ".join(f".{path}" for path in paths) + "]")
        entries = [[_value(entry, path) for path in paths] for entry in entries]
    compare(name, shown, "\n".join(json.dumps(e, separators=(",", ":")) for e in entries))


def _jq(query: str) -> str:
    return f" \\\n    | jq -c {shlex.quote(query)}"


def _value(entry: Any, path: str) -> Any:
    return functools.reduce(lambda value, key: value[key], path.split("."), entry)


def _openstack(words: Sequence[str]) -> str:
    command = [sys.executable, "-m", "openstackclient.shell", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _folded(words: Sequence[str]) -> str:
    """A command for a shell, in lines as the guide has them; options stay beside their values."""
    parts: list[str] = []
    for word in map(shlex.quote, words):
        if parts and parts[-1].startswith("-") and not word.startswith("-"):
            word = f"{parts.pop()} {word}"
        parts.append(word)
    lines = [""]
    for part in parts:
        if len(f"{lines[-1]} {part}") > _COLUMNS:
            lines.append("   ")
        lines[-1] += f" {part}"
    return " \\\n".join(lines).lstrip()


def _normalized(text: str) -> list[str]:
    """The words, in an order that does not depend on names or on how lines are folded."""
    for pattern, kind in _PLACEHOLDERS.items():
        text = re.sub(pattern, kind, text)
    return sorted(text.split())
