"""The directive ``phases``: the phases of an operation in their order, as a picture.

The order and the names come from the operation's outline; how long each took, from a trace that a
scenario left.
"""

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.application import Sphinx

from mgmt_drivers.engine.trace import CHANGED
from mgmt_drivers.testing.outline import outline
from tools.timeline.runs import Run, read

_TRACES = Path(__file__).parents[1] / "traces"
# A column for a phone: 420 pixels show the letters in nearly their own size.
_WIDTH, _ROW, _BARS, _SECONDS = 420, 20, 212, 44  # pixels
_SMALLEST = 2.0  # of a bar, to be seen at all
_COLOURS = {True: "#2f6fb2", False: "#7aa69b"}  # whether something changed


@dataclass(frozen=True)
class Row:
    """A phase on all of its machines, in seconds since the operation began."""

    title: str
    start: float
    end: float
    changed: bool


class PhasesDirective(Directive):
    """``.. phases:: operation``, and ``:trace: heal_end`` if there is one.

    Without a trace the titles stand in a row.
    """

    required_arguments = 1
    option_spec = {"trace": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        titles = [row.title for row in outline(name)]
        if "trace" not in self.options:
            return [_in_a_row(titles)]
        path = _TRACES / f"{self.options['trace']}.jsonl"
        self.state.document.settings.env.note_dependency(str(path))
        (run,) = read(path)
        rows = _rows(run, titles)
        if not rows:
            raise self.error(f"{path.name} has no phase of {name}: record the trace again")
        machines = f"{len(run.nodes)} machine{'s' if len(run.nodes) > 1 else ''}"
        text = (
            f"The phases of a recorded run: {run.end - run.start:.0f} s on {machines}. Blue phases "
            "changed something, green ones only looked or waited."
        )
        caption = nodes.paragraph("", text)
        return [caption, _raw(f'<div class="phases">{_svg(rows, run.end - run.start)}</div>')]


def _rows(run: Run, titles: Sequence[str]) -> list[Row]:
    """The phases that the run had, in the operation's order."""
    rows = []
    for title in dict.fromkeys(titles):
        bars = [bar for bar in run.bars if bar.phase == title]
        if bars:
            start, end = min(bar.start for bar in bars), max(bar.end for bar in bars)
            changed = any(bar.outcome == CHANGED for bar in bars)
            rows.append(Row(title, start - run.start, end - run.start, changed))
    return rows


def _svg(rows: Sequence[Row], length: float) -> str:
    height = _ROW * len(rows) + 4
    body = "".join(line for number, row in enumerate(rows) for line in _drawn(row, number, length))
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" font-family="system-ui, sans-serif" '
        f'font-size="12" fill="currentColor" '
        f'aria-label="phases and their durations">\n{body}</svg>'
    )


def _drawn(row: Row, number: int, length: float) -> Iterator[str]:
    y = number * _ROW + 4
    scale = (_WIDTH - _BARS - _SECONDS) / max(length, 0.001)
    width = max((row.end - row.start) * scale, _SMALLEST)
    title = html.escape(row.title)
    yield f'<text x="2" y="{y + 11}">{title}</text>\n'
    yield (
        f'<rect x="{_BARS + row.start * scale:.1f}" y="{y}" width="{width:.1f}" '
        f'height="{_ROW - 6}" rx="2" fill="{_COLOURS[row.changed]}"/>\n'
    )
    took = f"{row.end - row.start:.1f} s"
    yield f'<text x="{_WIDTH - 2}" y="{y + 11}" text-anchor="end">{took}</text>\n'


def _in_a_row(titles: Sequence[str]) -> nodes.Node:
    items = "".join(f"<li>{html.escape(title)}</li>" for title in titles)
    return _raw(f'<ol class="phases">{items}</ol>')


def _raw(text: str) -> nodes.Node:
    return nodes.raw("", text, format="html")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("phases", PhasesDirective)
    return {"parallel_read_safe": True}
