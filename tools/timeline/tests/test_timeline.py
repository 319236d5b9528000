import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tools.k8s_vnf.app import main
from tools.timeline import page, runs


def _record(phase: str, node: int, start: float, **more: Any) -> dict[str, Any]:
    return {
        "operation": "heal", "vnf": "vnf-1", "phase": phase,
        "node": f"workerNode (VNFC vnfc-{node}, 192.0.2.{node})",
        "start": start, "end": start + 2.5, "outcome": "changed", **more,
    }


class TimelineTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.trace = Path(folder.name, "vnf-1.jsonl")

    def write(self, *records: dict[str, Any]) -> None:
        self.trace.write_text("".join(json.dumps(record) + "\n" for record in records))

    def test_a_run_begins_with_logging_in(self) -> None:
        self.write(
            _record("connect", 1, 0), _record("connect", 2, 0), _record("join", 1, 3),
            _record("connect", 1, 10), _record("join", 1, 13, operation="scale"),
        )
        found = runs.read(self.trace)
        self.assertEqual([3, 1, 1], [len(run.bars) for run in found])
        self.assertEqual(["heal", "heal", "scale"], [run.operation for run in found])

    def test_what_answers_after_heats_part_is_another_run(self) -> None:
        self.write(
            _record("connect", 1, 0, outcome="failed"), _record("connect", 2, 3),
            _record("connect", 1, 60), _record("connect", 2, 60), _record("join", 1, 63),
        )
        self.assertEqual([2, 3], [len(run.bars) for run in runs.read(self.trace)])

    def test_facts_are_gathered_before_a_run_has_logged_in_everywhere(self) -> None:
        self.write(
            _record("connect", 1, 0), _record("choose a control-plane node", 1, 1),
            _record("gather facts", 1, 2), _record("connect", 2, 3),
            _record("wait for cloud-init", 2, 4), _record("connect", 3, 5), _record("join", 2, 6),
        )
        (run,) = runs.read(self.trace)
        self.assertEqual(7, len(run.bars))

    def test_the_page(self) -> None:
        self.write(
            _record("connect", 1, 0),
            _record("join <all>", 1, 3, outcome="failed", error="no & never"),
            _record("join <all>", 22, 3, outcome="unchanged"),
        )
        text = page.render(runs.read(self.trace))
        drawing = ElementTree.fromstring(text[text.index("<svg") : text.index("</svg>") + 6])
        bars = [element for element in drawing if element.tag == "rect"]
        self.assertEqual(3, len(bars))
        self.assertEqual("join <all>: 2.5 s, failed\nno & never", bars[1][0].text)
        rows = {element.text for element in drawing if element.tag == "text" and len(element)}
        self.assertEqual({"workerNode 192.0.2.1", "workerNode 192.0.2.22"}, rows)
        self.assertIn("no &amp; never</p>", text)
        self.assertNotIn("http", text)

    def test_command(self) -> None:
        self.write(_record("connect", 1, 0), _record("join", 1, 3), _record("connect", 1, 9))
        with contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(0, main(["timeline", str(self.trace), "--last", "1"]))
        written = self.trace.with_suffix(".html")
        limits = "heal: 1.00 times the critical path of 2.5 s, 1.00 times the 2.5 s of workerNode"
        self.assertEqual(f"{limits} 192.0.2.1\n{written}\n", said.getvalue())
        self.assertEqual(1, written.read_text().count("<svg"))

    def test_the_critical_path_is_what_each_phase_waited_for(self) -> None:
        """Of two machines that end before it, a phase may have waited for the earlier one."""
        nodes = {n: _record("", n, 0)["node"] for n in (1, 2)}
        self.write(
            _record("connect", 1, 0, end=1), _record("connect", 2, 0, end=2),
            _record("install", 2, 2, end=3, after=nodes[2]),
            _record("check", 1, 2, end=6),
            _record("install", 1, 6, end=16, after=nodes[1]),
            _record("join", 2, 6.5, end=7, after=nodes[1]),
            _record("reboot", 2, 7, end=15, after=nodes[2]),
            _record("wait", 1, 17, end=20, after=nodes[2]),
        )
        (run,) = runs.read(self.trace)
        path = [(bar.phase, bar.node) for bar in run.critical_path]
        wanted = [("connect", 2), ("check", 1), ("join", 2), ("reboot", 2), ("wait", 1)]
        self.assertEqual([(phase, nodes[n]) for phase, n in wanted], path)
        # 20 s, of which the path has 17.5 s, and the busiest machine 18 s.
        self.assertEqual(
            "heal: 1.14 times the critical path of 17.5 s, "
            "1.11 times the 18.0 s of workerNode 192.0.2.1",
            page.limits(run),
        )
        text = page.render([run])
        self.assertIn("join: 0.5 s, changed, waited for workerNode 192.0.2.1", text)
        self.assertEqual(5, text.count('stroke-width="2"'))

    def test_what_is_no_trace(self) -> None:
        for text in ("", "{}\n", "no json\n", "[]\n"):
            self.trace.write_text(text)
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(3, main(["timeline", str(self.trace)]))
            self.assertIn("vnf-1.jsonl", said.getvalue())
