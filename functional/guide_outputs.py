"""What the guide shows of the scenarios' runs, which must not drift from what is seen."""

import difflib
import re

from tools.client.config import CHECKOUT, CONFIG
from tools.client.log import say

_OUTPUTS = CHECKOUT / "doc" / "source" / "outputs"
_RECORDED_WITH = "1.20.2"
# What is another in each run.
_FORMS = {
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": "ID",
    r"\b(master|worker)-[0-9a-f]{12}\b": r"\1-ID",
    r"\b\d+\.\d+\.\d+\.\d+\b": "ADDRESS",
    r"\bv\d+\.\d+\.\d+\b": "VERSION",
    r"\b(\d+[dhms])+\b": "AGE",
    r"\bcompute-\d+\b": "HOST",
    r"-{3,}": "---",
}


def check(name: str, command: str, output: str) -> None:
    """Compare a command's output with the one that the guide shows: their words, in any order.

    Other series of Kubernetes print other columns: only that of the recording is compared.

    :raises AssertionError: with the difference, when they are not of the same form
    """
    path = _OUTPUTS / f"{name}.txt"
    seen = f"$ {command}\n{output.rstrip()}\n" if command else f"{output.rstrip()}\n"
    if CONFIG.record:
        path.write_text(seen)
        say(f"recorded for the guide: {path.name}")
        return
    if not CONFIG.kubernetes_mirror or CONFIG.kubernetes_version != _RECORDED_WITH:
        say(f"{path.name} of the guide is not compared: it is of Kubernetes {_RECORDED_WITH}")
        return
    shown, found = _form(path.read_text()), _form(seen)
    if shown != found:
        difference = "\n".join(difflib.unified_diff(shown, found, "the guide", "seen", lineterm=""))
        raise AssertionError(
            f"the guide shows another output in {path.name}; record it anew with "
            f"FUNCTIONAL_RECORD=1:\n{difference}"
        )


def _form(text: str) -> list[str]:
    """The words, in an order that does not depend on names or on how lines are folded."""
    for pattern, kind in _FORMS.items():
        text = re.sub(pattern, kind, text)
    return sorted(text.split())
