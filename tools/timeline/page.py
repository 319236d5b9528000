"""A page that shows runs: a row per node, a bar per phase. Self-contained, no scripts."""

import html
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from operator import itemgetter

from mgmt_drivers.engine.trace import Record
from tools.timeline.runs import Run, seconds

_WIDTH, _ROW, _NAMES, _TOP = 1000, 26, 190, 30  # pixels
_SMALLEST = 1.5  # width of a bar, so that it is visible
_CHARACTER = 6.2  # width of a label's character
_TICKS = 8
_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 3600)  # seconds
# Two shades for changed phases, which tell consecutive phases apart.
_COLOURS = {"failed": "#c0392b", "unchanged": "#c9ced6", "checked": "#7aa69b"}
_CHANGED = ("#2f6fb2", "#5b9bd8")
_DARK = (_CHANGED[0], _COLOURS["failed"])  # with white labels

_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 1.5rem auto; max-width: 1040px;
       padding: 0 1rem; color: #1c2430; background: #fff; }}
h1 {{ font-size: 1.3rem; }} h2 {{ font-size: 1.05rem; margin: 2rem 0 .3rem; }}
.run {{ overflow-x: auto; }} svg {{ min-width: 760px; width: 100%; height: auto; }}
.key span {{ display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 1rem; }}
.error {{ color: #c0392b; white-space: pre-wrap; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="key">Hold the pointer on a bar for its duration. The framed bars are the critical path.
{key}</p>
"""


def render(runs: Sequence[Run]) -> str:
    """The whole page."""
    title = f"Operations of VNF {runs[0].vnf}"
    colours = {"changed": _CHANGED[0], **_COLOURS}
    key = "".join(
        f'<span style="background:{colour}"></span>{name}' for name, colour in colours.items()
    )
    sections = "".join(_section(run) for run in runs)
    return _HEAD.format(title=html.escape(title), key=key) + sections + "</body>\n</html>\n"


def _section(run: Run) -> str:
    began = datetime.fromtimestamp(run.start, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    text = f"{run.operation}: {run.end - run.start:.1f} s, {len(run.nodes)} machines, {began}"
    errors = "".join(
        f'<p class="error">{html.escape(f"{bar.node}, {bar.phase}: {bar.error}")}</p>\n'
        for bar in run.bars
        if bar.error
    )
    return (
        f'<h2>{html.escape(text)}</h2>\n<p>{html.escape(limits(run))}</p>\n'
        f'<div class="run">\n{svg(run)}</div>\n{errors}'
    )


def limits(run: Run) -> str:
    """The run's length as a multiple of its critical path, and of the longest chain of a machine.

    Time beyond the path passed between phases. Beyond its chain, a machine waited for others.
    """
    length, path = run.end - run.start, seconds(run.critical_path)
    chains = {n: seconds([bar for bar in run.bars if bar.node == n]) for n in run.nodes}
    node, chain = max(chains.items(), key=itemgetter(1))
    return (
        f"{run.operation}: {length / (path or 1):.2f} times the critical path of {path:.1f} s, "
        f"{length / (chain or 1):.2f} times the {chain:.1f} s of {_row_name(node)}"
    )


def svg(run: Run) -> str:
    """Draw one run, for this page or another page."""
    height = _TOP + _ROW * len(run.nodes) + 6
    body = "".join([*_axis(run, height), *_rows(run)])
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" font-family="system-ui, sans-serif" '
        f'font-size="11" fill="currentColor" '
        f'aria-label="{html.escape(run.operation)}">\n{body}</svg>\n'
    )


def _x(run: Run, moment: float) -> float:
    share = (moment - run.start) / max(run.end - run.start, 0.001)
    return _NAMES + share * (_WIDTH - _NAMES - 10)


def _axis(run: Run, height: int) -> Iterator[str]:
    length = run.end - run.start
    step = next((s for s in _STEPS if length / s <= _TICKS), _STEPS[-1])
    for number in range(int(length / step) + 1):
        x = _x(run, run.start + number * step)
        yield (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="20" y2="{height}" stroke="currentColor" '
            'stroke-opacity=".15"/>\n'
        )
        # The last label would leave the picture.
        beside = f'x="{x - 2:.1f}" text-anchor="end"' if x > _WIDTH - 40 else f'x="{x + 2:.1f}"'
        yield f'<text fill-opacity=".7" {beside} y="14">{number * step:g} s</text>\n'


def _rows(run: Run) -> Iterator[str]:
    phases, critical = run.phases, run.critical_path
    for row, node in enumerate(run.nodes):
        y = _TOP + row * _ROW
        yield f'<text x="0" y="{y + 16}">{html.escape(_row_name(node))}'
        yield f"<title>{html.escape(node)}</title></text>\n"
        for bar in run.bars:
            if bar.node == node:
                frame = ' stroke="currentColor" stroke-width="2"' if bar in critical else ""
                yield _bar(run, bar, y, phases.index(bar.phase), frame)


def _bar(run: Run, bar: Record, y: int, order: int, frame: str) -> str:
    x, end = _x(run, bar.start), _x(run, bar.end)
    width = max(end - x, _SMALLEST)
    colour = _COLOURS.get(bar.outcome, _CHANGED[order % len(_CHANGED)])
    tooltip = f"{bar.phase}: {bar.end - bar.start:.1f} s, {bar.outcome}"
    if bar.after not in ("", bar.node):
        tooltip += f", waited for {_row_name(bar.after)}"
    if bar.error:
        tooltip += f"\n{bar.error}"
    drawn = (
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_ROW - 6}" rx="2" '
        f'fill="{colour}"{frame}><title>{html.escape(tooltip)}</title></rect>\n'
    )
    if bar.outcome != "unchanged" and width > len(bar.phase) * _CHARACTER:
        label, ink = html.escape(bar.phase), "#fff" if colour in _DARK else "#1c2430"
        drawn += (
            f'<text fill="{ink}" pointer-events="none" x="{x + 4:.1f}" y="{y + 14}">'
            f"{label}</text>\n"
        )
    return drawn


def _row_name(node: str) -> str:
    """The name of a node's row, without the ids, which are in the tooltip."""
    role, _, rest = node.partition(" (")
    address = rest.rstrip(")").rpartition(", ")[2]
    return f"{role} {address}".strip()
