"""Tar archives, in which Docker takes files."""

import io
import tarfile
from collections.abc import Mapping


def tar(files: Mapping[str, bytes]) -> bytes:
    """A tar archive of files, readable by root only, by their paths."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size, entry.mode = len(data), 0o600
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
