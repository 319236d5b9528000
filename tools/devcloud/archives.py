"""Tar archives, in which Docker takes files."""

import io
import tarfile
from pathlib import Path


def single_file_tar(path: Path, text: str) -> bytes:
    """A tar archive of one file, readable by root only."""
    data = text.encode()
    entry = tarfile.TarInfo(str(path).lstrip("/"))
    entry.size, entry.mode = len(data), 0o600
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
