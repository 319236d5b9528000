"""The images that the conformance tests name."""

import io
import json
import tarfile
import tempfile
import unittest
from pathlib import Path

from tools import docker_archive
from tools.devcloud.kubernetes import make_conformance_images as made

_NAMES = ("agnhost:2.55", "agnhost:2.66.1", "busybox:1", "glibc-dns-testing:2", "kitten:1",
          "nautilus:1", "nginx:1", "nonewprivs:1", "sample-apiserver:1", "perl:5")
_SOURCES = ("agnhost/porter/localhost.crt", "agnhost/porter/localhost.key",
            "kitten/html/data.json", "nautilus/html/data.json")


class ImagesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = Path(self.enter(tempfile.TemporaryDirectory()))
        for name in ("agnhost", "nonewprivs", "sample-apiserver"):
            self.write(folder / "bin" / name)
        for name in _SOURCES:
            self.write(folder / "images" / name)
        self.root = docker_archive.layer({"bin/sh": b"sh"})
        busybox = made.of_busybox(b"busybox", b"bash", ["busybox", "bash", "sh", "ls"])
        self.images = {**made.images(folder / "bin", self.root), "busybox": busybox}

    def enter(self, context: tempfile.TemporaryDirectory[str]) -> str:
        self.addCleanup(context.cleanup)
        return context.name

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(path))

    def entries(self, name: str) -> dict[str, tarfile.TarInfo]:
        """The entries of an image's last layer."""
        with tarfile.open(fileobj=io.BytesIO(self.images[name][0][-1])) as layer:
            return {entry.name: entry for entry in layer}

    def test_one_archive_of_all_versions(self) -> None:
        named = made.named([f"registry.k8s.io/x/{name}" for name in _NAMES], self.images)
        stream = io.BytesIO()
        docker_archive.write_all(stream, named)
        with tarfile.open(fileobj=io.BytesIO(stream.getvalue())) as archive:
            names = archive.getnames()
            manifest = json.load(archive.extractfile("manifest.json"))  # type: ignore[arg-type]
        self.assertEqual(sorted(set(names)), sorted(names))
        layers = {image["RepoTags"][0].rpartition("/")[2]: image["Layers"] for image in manifest}
        self.assertEqual(set(_NAMES) - {"perl:5"}, set(layers))
        self.assertEqual(layers["agnhost:2.55"], layers["kitten:1"][:2])
        self.assertEqual(len(_NAMES) - 1, len({image["Config"] for image in manifest}))

    def test_an_image_that_no_test_names(self) -> None:
        with self.assertRaisesRegex(SystemExit, r"name no image \['nginx'\]"):
            made.named([f"r/{name}" for name in _NAMES if "nginx" not in name], self.images)

    def test_what_tests_look_for_in_images(self) -> None:
        self.assertEqual(0o6755, self.entries("nonewprivs")["usr/local/bin/nnp"].mode)
        self.assertTrue(self.entries("busybox")["bin/sh"].isreg())
        self.assertEqual("busybox", self.entries("busybox")["bin/ls"].linkname)
        self.assertTrue(self.entries("busybox")["bin/bash"].isreg())
        agnhost = self.entries("agnhost")
        self.assertEqual("agnhost", agnhost["agnhost-2"].linkname)
        self.assertEqual((0o1777, 0o644), (agnhost["uploads"].mode, agnhost["etc/group"].mode))
        self.assertIn("data.json", self.entries("kitten"))
