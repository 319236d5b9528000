"""The directive ``plan``: the phases of an operation, as the code has them."""

import importlib
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from mgmt_drivers.engine.phase import Phase


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
    """The first sentence that the phase's class says of itself."""
    assert phase.__doc__
    line = " ".join(phase.__doc__.split("\n\n")[0].split())
    return line[0].lower() + line[1:]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("plan", PlanDirective)
    return {"parallel_read_safe": True}
