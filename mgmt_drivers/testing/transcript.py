"""Transcripts: the commands that an operation gives to each machine, and its trace between them.

A transcript is text whose diff a reviewer can read: a section for each machine, in it the
commands in their order, each with the first digits of its input's SHA-256, and behind a group of
commands the phase that the trace notes for them. At its end stands what is kept with the VNF
instance. Operations run with one thread, which makes the order of commands the same each time.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mgmt_drivers.engine.trace import RUNNING
from mgmt_drivers.ssh.session import DEFAULT_OUTPUT, DEFAULT_TIMEOUT, Result, Session, Stdin
from mgmt_drivers.testing.fakes import MemoryStore, fed

# Values that differ from run to run: bootstrap tokens and the names of their Secrets, the keys
# of uploaded certificates, and the names of processes and containers that run once.
_RANDOM = re.compile(
    r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b|(?<=bootstrap-token-)[a-z0-9]{6}\b"
    r"|\b[0-9a-f]{64}\b|\b[0-9a-f]{16}\b|(?<=secret: )[A-Za-z0-9+/]{43}="
)
_KEY = re.compile(r"-----BEGIN (PRIVATE|PUBLIC) KEY-----.*?-----END \1 KEY-----")
# Words that stand in so many commands that a transcript shortens them.
_SHORT = {
    "kubectl --kubeconfig /etc/kubernetes/admin.conf --tls-server-name kubernetes "
    "--server https://127.0.0.1:6443": "kubectl",
    "/var/lib/tacker-mgmt-drivers": "$STATE",
    "DEBIAN_FRONTEND=noninteractive ": "",
    "NEEDRESTART_SUSPEND=1 NEEDRESTART_MODE=l ": "",
    "-o DPkg::Options::=--force-confdef -o DPkg::Options::=--force-confold ": "",
}
_ADDRESS = re.compile(r"([0-9.]+)\)$")  # at the end of a machine's name
_LONG = 160  # characters of a command that are shown; a digest stands for the rest


class Recorder:
    """Notes what an operation does; the trace of its services goes to ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lines: dict[str, list[str]] = defaultdict(list)  # by machine
        self._read = 0  # lines of the trace

    def say(self, title: str) -> None:
        """Begin a part of the story on all machines."""
        self._read_trace()
        for lines in self._lines.values():
            lines.append(f"== {title}")

    def recording(self, connect: Callable[..., Session]) -> Callable[..., Session]:
        """Connect as before, but note what is run."""

        def opened(endpoint: Any, *rest: Any) -> Session:
            return _Recorded(connect(endpoint, *rest), endpoint.address, self)

        return opened

    def note(self, machine: str, argv: Sequence[str], sudo: bool, stdin: Stdin) -> None:
        self._read_trace()
        text = _stable(" ".join([*(["sudo"] if sudo else []), *_shown(argv)]))
        for long, short in _SHORT.items():
            text = text.replace(long, short)
        if len(text) > _LONG:
            text = f"{text[:_LONG]} [{_digest(text)}]"
        data = fed(stdin)
        if data:
            text += f" < {_digest(_stable(data.decode(errors='replace')))}"
        self._lines[machine].append(f"   {text}")

    def _read_trace(self) -> None:
        """Put what the trace has noted since behind the commands to the same machine."""
        files = sorted(self.folder.glob("*.jsonl"))
        lines = [line for file in files for line in file.read_text().splitlines()]
        for record in map(json.loads, lines[self._read :]):
            found = _ADDRESS.search(record["node"])
            assert found, record
            if record["outcome"] != RUNNING:
                self._lines[found[1]].append(f"-- {record['phase']}: {record['outcome']}")
        self._read = len(lines)

    def text(self, store: MemoryStore) -> str:
        """The transcript, and what the store holds at its end."""
        self._read_trace()
        machines = sorted(self._lines.items())
        parts = [f"### {machine}\n" + "\n".join(lines) for machine, lines in machines]
        kept = [f"{key}: {_stable(_in_order(value))}" for key, value in sorted(store.kept.items())]
        return "\n\n".join([*parts, "\n".join(["### kept", *kept])]) + "\n"


class _Recorded:
    """A session that notes what is run."""

    def __init__(self, session: Session, machine: str, recorder: Recorder) -> None:
        self._session, self._machine, self._recorder = session, machine, recorder
        self.hide, self.close = session.hide, session.close
        self.has_former_login = session.has_former_login

    def run(
        self,
        argv: Sequence[str],
        *,
        stdin: Stdin = None,
        sudo: bool = False,
        check: bool = True,
        timeout: float = DEFAULT_TIMEOUT,
        limit: int = DEFAULT_OUTPUT,
    ) -> Result:
        self._recorder.note(self._machine, argv, sudo, stdin)
        return self._session.run(
            argv, stdin=stdin, sudo=sudo, check=check, timeout=timeout, limit=limit
        )

    def hold(self, argv: Sequence[str], word: str, *, timeout: float = DEFAULT_TIMEOUT) -> Result:
        self._recorder.note(self._machine, argv, True, None)
        return self._session.hold(argv, word, timeout=timeout)


def _shown(argv: Sequence[str]) -> list[str]:
    """The words of a command: scripts by their names, other programs in it by their first lines."""
    words: list[str] = []
    for word in argv:
        if "\n" in word and words[-2:] in (["sh", "-c"], ["bash", "-c"]):
            del words[-2:]  # the name comes next
        else:
            words.append(word.strip('"').partition("\n")[0])
    return words


def _in_order(value: str) -> str:
    """JSON whose keys are sorted: machines that are asked in parallel may be kept in any order."""
    return json.dumps(json.loads(value), sort_keys=True)


def _stable(text: str) -> str:
    return _KEY.sub("***", _RANDOM.sub("***", text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
