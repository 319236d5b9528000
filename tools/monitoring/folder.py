"""The folder from which Prometheus and Alertmanager read their files."""

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_FILES = Path(__file__).parent / "files"
_CONFIGURATION = ("rules/k8s_vnf.yml", "alertmanager.yml", "prometheus.yml")


class Folder:
    """Writes a file only if its content changes, and as a whole.

    :param say: prints a line
    """

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        self._path, self._say = path, say

    def configure(self, tacker: str, replace: bool) -> None:
        """Write the files that people may change, if they are not there.

        :param tacker: URL of Tacker
        :param replace: whether a file that differs is replaced
        """
        for name in _CONFIGURATION:
            path = self._path / name
            text = (_FILES / name).read_text().replace("TACKER_URL", tacker.rstrip("/"))
            if path.exists() and not replace:
                if path.read_text() != text:
                    self._say(f"kept {path}, which differs; --replace replaces it")
                continue
            self._write(path, text)

    def addresses(self, vnf_id: str) -> dict[str, str]:
        """The addresses in the file of a VNF instance by node; none if the file is damaged."""
        try:
            targets = json.loads(self._target_file(vnf_id).read_text())
            return {t["labels"]["node"]: t["targets"][0].rpartition(":")[0] for t in targets}
        except (OSError, ValueError, LookupError, TypeError):
            return {}

    def write_targets(self, vnf_id: str, targets: list[Any]) -> None:
        self._write(self._target_file(vnf_id), json.dumps(targets, indent=2) + "\n")

    def vnf_ids(self) -> Iterator[str]:
        """The VNF instances that have a file."""
        for path in self._path.glob("targets/*.json"):
            if _is_id(path.stem):  # another file is somebody else's
                yield path.stem

    def remove_targets(self, vnf_id: str) -> None:
        path = self._target_file(vnf_id)
        if path.exists():
            path.unlink()
            self._say(f"removed {path}")

    def _target_file(self, vnf_id: str) -> Path:
        return self._path / "targets" / f"{vnf_id}.json"

    def _write(self, path: Path, text: str) -> None:
        if path.exists() and path.read_text() == text:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        # Prometheus looks for *.json, and reads a file that is there.
        new = path.with_name(f".{path.name}.new")
        new.write_text(text)
        new.replace(path)
        self._say(f"wrote {path}")


def _is_id(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
