"""The directive ``outline``: the phases of an operation, each with its machines."""

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from mgmt_drivers.testing.outline import outline


class OutlineDirective(Directive):
    """``.. outline:: heal_end`` becomes a numbered list: title, purpose, machines."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        listed = nodes.enumerated_list()
        for row in outline(self.arguments[0]):
            paragraph = nodes.paragraph()
            paragraph += nodes.strong(text=row.title)
            purpose = row.purpose[0].lower() + row.purpose[1:]
            text, _ = self.state.inline_text(f" on {row.machines}: {purpose}", self.lineno)
            paragraph += text
            listed += nodes.list_item("", paragraph)
        return [listed]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("outline", OutlineDirective)
    return {"parallel_read_safe": True}
