"""The wrapper around runc: what it changes where CAP_SYS_RESOURCE is missing."""

import json
import subprocess
import tempfile
import unittest
from pathlib import Path

WRAPPER = Path(__file__).parents[1] / "node/runc.sh"
_ALL = "000003ffffffffff"
_LOWERED = {"args": ["sh"], "capabilities": {"bounding": ["CAP_CHOWN"], "effective": []}}


def process() -> dict[str, object]:
    return {
        "args": ["sh"],
        "capabilities": {
            "bounding": ["CAP_CHOWN", "CAP_SYS_RESOURCE"],
            "effective": ["CAP_SYS_RESOURCE"],
        },
        "oomScoreAdj": -998,
    }


class RuncTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.config = self.folder / "config.json"
        self.annotations = {"pod": json.dumps(process())}  # as text: it stays as it is
        self.write(self.config, {"process": process(), "annotations": self.annotations})
        real = self.folder / "runc.real"
        real.write_text("""#!/bin/sh\nprintf '%s\\n' "$@"\n""")
        real.chmod(0o755)

    def write(self, path: Path, content: object) -> None:
        path.write_text(json.dumps(content, separators=(",", ":")))  # as Go does

    def run_wrapper(self, *arguments: str, bounding: str = "000003fffeffffff") -> None:
        status = self.folder / "status"
        status.write_text(f"Name:\tsh\nCapBnd:\t{bounding}\nCapAmb:\t0000000000000000\n")
        script = WRAPPER.read_text().replace("/proc/self/status", str(status))
        script = script.replace("/usr/sbin/runc.real", str(self.folder / "runc.real"))
        command = ["sh", "-c", script, "runc", *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        self.assertEqual(list(arguments), ran.stdout.splitlines())

    def test_a_bundle_loses_what_cannot_be_given(self) -> None:
        self.run_wrapper("--root", "/r", "create", "--bundle", str(self.folder), "id")
        self.assertEqual(
            {"process": _LOWERED, "annotations": self.annotations},
            json.loads(self.config.read_text()),
        )

    def test_a_process_in_a_container_too(self) -> None:
        path = self.folder / "process.json"
        for arguments in (("exec", f"--process={path}"), ("exec", "-p", str(path))):
            self.write(path, {**process(), "oomScoreAdj": 5, "terminal": True})
            self.run_wrapper(*arguments, "id with spaces")
            self.assertEqual({**_LOWERED, "terminal": True}, json.loads(path.read_text()))

    def test_nothing_is_changed_otherwise(self) -> None:
        before = self.config.read_text()
        self.run_wrapper("create", "--bundle", str(self.folder), "id", bounding=_ALL)
        self.run_wrapper("delete", "id")
        self.run_wrapper("exec", "id", "true")
        self.assertEqual(before, self.config.read_text())
