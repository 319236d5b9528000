"""The directive ``parameters``: each parameter of an object, as the drivers declare it."""

import json
import re
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx.application import Sphinx

from mgmt_drivers.params.declaration import (
    MODIFICATION,
    Parameter,
    all_parameters,
    class_of,
    parameters,
)
from mgmt_drivers.schemas.request_schema import OBJECTS


def _facts(parameter: Parameter) -> str:
    """One line: the kind, whether the parameter is required, and its default."""
    facts = [parameter.kind.words]
    if parameter.required.words:
        facts.append(parameter.required.words.replace("required", "**required**", 1))
    if parameter.default is not None:
        facts.append(f"default ``{_written(parameter.default)}``")
    return "; ".join(facts)


def _written(value: Any) -> str:
    """A value as a request has it, strings without their quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def _lines(parameter: Parameter, path: str) -> Iterator[str]:
    """The text of a parameter's entry; paragraphs with blank lines between them."""
    yield from (".. rst-class:: facts", "", _facts(parameter), "")
    meaning = parameter.meaning[0].upper() + parameter.meaning[1:]
    yield from (f"{meaning}.", "")
    if parameter.left_out:
        yield from (f"If left out: {parameter.left_out}.", "")
    if class_of(parameter.kind):
        yield from (f"Its parameters are in :ref:`{path} <in.{path}>`.", "")
    elif parameter.example is not None:
        yield from (f"Example: ``{_written(parameter.example)}``", "")
    if parameter.changed_by == MODIFICATION:
        yield from (f"A {parameter.changed_by} may change the parameter.", "")


class ParametersDirective(Directive):
    """``.. parameters:: k8s_cluster_installation_param``"""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        objects = [(name, OBJECTS[name])]
        for path, parameter in all_parameters(*objects[0]):
            if inner := class_of(parameter.kind):
                objects.append((path, inner))
        made: list[nodes.Node] = []
        for path, cls in objects:
            if path != name:
                words = nodes.literal(text=path.removeprefix(f"{name}."))
                made.append(nodes.rubric("", "In ", words, ids=[f"in.{path}"]))
                self._note(f"in.{path}", path)
            items = [self._item(p, f"{path}.{p.name}") for p in parameters(cls)]
            made.append(nodes.definition_list("", *items, classes=["parameters"]))
        return made

    def _item(self, parameter: Parameter, path: str) -> nodes.definition_list_item:
        term = nodes.term("", "", nodes.literal(text=parameter.name), ids=[path])
        term += nodes.reference("", "¶", refuri=f"#{path}", classes=["headerlink"])
        self._note(path, parameter.name)
        body = nodes.definition()
        written = [self._with_folders(line) for line in _lines(parameter, path)]
        lines = StringList(written, "parameters")
        self.state.nested_parse(lines, 0, body)
        return nodes.definition_list_item("", term, body)

    def _with_folders(self, line: str) -> str:
        """Refer to pages by their folders: a declaration knows only the names of pages."""
        found_docs = self.state.document.settings.env.found_docs
        pages = {name.rpartition("/")[2]: name for name in found_docs}
        named = re.compile(r":doc:`([\w-]+)`")
        return named.sub(lambda found: f":doc:`/{pages.get(found[1], found[1])}`", line)

    def _note(self, anchor: str, title: str) -> None:
        """Let other pages refer to an anchor."""
        env = self.state.document.settings.env
        env.domains["std"].note_hyperlink_target(anchor, env.docname, anchor, title)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("parameters", ParametersDirective)
    return {"parallel_read_safe": True}
