"""Fetching a file: from a real server into a program called docker."""

import contextlib
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from mgmt_drivers.machine import file_fetch

# Says what docker load would, of a file that it shows.
_DOCKER = """#!/bin/sh
[ "$*" = "load --quiet" ] && cat && echo "Loaded image: a:1"
"""


class ImageFetchTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "docker").write_text(_DOCKER)
        (self.folder / "docker").chmod(0o755)
        (self.folder / "r.tar").write_text("the layers\n")
        handler = partial(SimpleHTTPRequestHandler, directory=str(self.folder))
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def fetch(
        self, name: str = "r.tar", *, limit: str = "", **more: str
    ) -> subprocess.CompletedProcess[str]:
        """:param limit: name and value of a limit of the program"""
        question = {"url": f"http://127.0.0.1:{self.server.server_port}/{name}", **more}
        program = Path(file_fetch.__file__).read_text()
        if limit:
            program, count = re.subn(f"(?m)^{limit.split()[0]} = .*", limit, program)
            self.assertEqual(1, count)
        return subprocess.run(
            [sys.executable, "-I", "-c", program, "docker", "load", "--quiet"],
            input=json.dumps(question), capture_output=True, text=True,
            env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"},
        )

    def test_what_was_served_is_loaded(self) -> None:
        for sha256 in ({}, {"sha256": hashlib.sha256(b"the layers\n").hexdigest()}):
            ran = self.fetch(**sha256)
            self.assertEqual((0, "the layers\nLoaded image: a:1\n"), (ran.returncode, ran.stdout))

    def test_another_file_is_not_loaded(self) -> None:
        ran = self.fetch(sha256="0" * 64)
        self.assertEqual((1, ""), (ran.returncode, ran.stdout))
        self.assertIn("has another SHA-256", ran.stderr)

    def test_only_http_is_opened(self) -> None:
        ran = self.fetch(url=f"file://{self.folder}/r.tar")
        self.assertEqual((1, ""), (ran.returncode, ran.stdout))
        self.assertIn("cannot fetch the file: unknown url type: file", ran.stderr)

    def test_no_file(self) -> None:
        ran = self.fetch("none.tar")
        self.assertEqual(1, ran.returncode)
        self.assertIn("cannot fetch the file: File not found", ran.stderr)

    def test_a_file_without_end_is_given_up(self) -> None:
        ran = self.fetch(limit="_MOST = 4")
        self.assertEqual((1, ""), (ran.returncode, ran.stdout))
        self.assertIn("larger than", ran.stderr)
        self.assertEqual([], list(self.folder.glob("tmp*")))

    def test_what_comes_with_a_redirection_is_not_read(self) -> None:
        with redirection() as (port, was_read):
            ran = self.fetch(url=f"http://127.0.0.1:{port}/")
        self.assertIn("cannot fetch the file: unknown url type: ftp", ran.stderr)
        self.assertFalse(was_read.is_set())

    def test_a_server_that_sends_a_byte_now_and_then_is_given_up(self) -> None:
        for silent in (False, True):
            with self.subTest(headers=silent), trickle(silent) as port:
                url = f"http://127.0.0.1:{port}/"
                ran = self.fetch(url=url, limit="_WHOLE_LIMIT = 1")
                self.assertEqual((1, ""), (ran.returncode, ran.stdout))
                self.assertIn("cannot fetch the file: not within 1 s", ran.stderr)


@contextlib.contextmanager
def trickle(is_header: bool) -> Iterator[int]:
    """A server whose answer, or already its header, comes byte by byte without end; its port."""
    ended = threading.Event()

    def serve(listening: socket.socket) -> None:
        client, _ = listening.accept()
        with client, contextlib.suppress(OSError):
            client.recv(65536)
            client.sendall(b"HTTP/1.0 200 OK\r\n" + (b"X: " if is_header else b"\r\n"))
            while not ended.wait(0.05):
                client.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            ended.set()
            thread.join()


@contextlib.contextmanager
def redirection() -> Iterator[tuple[int, threading.Event]]:
    """A server whose redirection comes with 50 MB: its port, and whether they were taken."""
    was_read = threading.Event()

    def serve(listening: socket.socket) -> None:
        client, _ = listening.accept()
        with client, contextlib.suppress(OSError):
            client.recv(65536)
            client.sendall(b"HTTP/1.0 302 Found\r\nLocation: ftp://127.0.0.1:1/\r\n\r\n")
            client.sendall(b"x" * 50_000_000)
            was_read.set()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        yield listening.getsockname()[1], was_read
        thread.join()
