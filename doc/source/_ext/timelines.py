"""The directive ``timeline``: runs of a trace that a scenario left, drawn."""

from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from tools.timeline import page, runs

_TRACES = Path(__file__).parents[1] / "traces"


class TimelineDirective(Directive):
    """``.. timeline:: heal_master`` draws ``traces/heal_master.jsonl``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        path = _TRACES / f"{self.arguments[0]}.jsonl"
        self.state.document.settings.env.note_dependency(str(path))
        drawn: list[nodes.Node] = []
        for run in runs.read(path):
            text = f"A real run: {run.end - run.start:.1f} s on {len(run.nodes)} machines."
            drawn.append(nodes.paragraph("", text))
            svg = f'<div class="timeline">{page.svg(run)}</div>'
            drawn.append(nodes.raw("", svg, format="html"))
        return drawn


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("timeline", TimelineDirective)
    return {"parallel_read_safe": True}
