"""Records that belong to no container, kept in a JSON file under a lock."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Table:
    """Records by id; ``changing`` writes back what was changed inside it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def changing(self) -> Iterator[dict[str, Any]]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            before = file.read()
            records: dict[str, Any] = json.loads(before or "{}")
            yield records
            after = json.dumps(records, indent=1)
            if after != before:
                file.truncate(0)
                file.write(after)

    def read(self) -> dict[str, Any]:
        with self.changing() as records:
            return records
