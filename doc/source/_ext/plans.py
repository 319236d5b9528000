"""The directive ``plan``: the phases of an operation, as the code has them."""

import importlib
import inspect
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from mgmt_drivers.engine.phase import Phase
from sphinx.application import Sphinx


class PlanDirective(Directive):
    """``.. plan:: module.NAME`` becomes a numbered list: title, and what the phase is for."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module, _, name = self.arguments[0].rpartition(".")
        plan = getattr(importlib.import_module(module), name)
        listed = nodes.enumerated_list()
        for phase in plan:
            paragraph = nodes.paragraph()
            paragraph += nodes.strong(text=phase.title)
            paragraph += nodes.Text(f": {_purpose(phase)}")
            listed += nodes.list_item("", paragraph)
        return [listed]


def _purpose(phase: Phase[Any]) -> str:
    """What the module says of the phase."""
    module = inspect.getmodule(type(phase))
    assert module and module.__doc__
    line = " ".join(module.__doc__.split("\n\n")[0].split())
    return line[0].lower() + line[1:]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("plan", PlanDirective)
    return {"parallel_read_safe": True}
