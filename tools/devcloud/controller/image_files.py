"""Files that lie in images of the Docker engine."""

import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import docker


@contextmanager
def file_of_image(client: docker.DockerClient, tag: str, path: str) -> Iterator[IO[bytes]]:
    """Open a file of an image for reading."""
    container = client.containers.create(tag, command=["true"], entrypoint=[])
    try:
        # Not /tmp, which is memory here.
        with tempfile.TemporaryFile(dir="/var/tmp") as copy:  # noqa: S108
            chunks, _ = container.get_archive(path)
            for chunk in chunks:
                copy.write(chunk)
            copy.seek(0)
            with tarfile.open(fileobj=copy) as archive:
                file = archive.extractfile(archive.getmembers()[0])
                assert file is not None, f"{path} of {tag} is no file"
                yield file
    finally:
        container.remove(force=True)
