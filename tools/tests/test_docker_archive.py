"""Archives of images: what is in them, and that they are reproducible."""

import io
import json
import tarfile
import unittest

from tools import docker_archive


def archive(**layer: object) -> bytes:
    content = docker_archive.layer({"bin/a": b"x", "etc/c": b"y"}, **layer)  # type: ignore[arg-type]
    stream = io.BytesIO()
    docker_archive.write(stream, "name:1", content, {"Entrypoint": ["/bin/a"]}, "amd64")
    return stream.getvalue()


class ArchiveTest(unittest.TestCase):
    def test_an_image_of_one_layer(self) -> None:
        made = archive(
            links={"bin/b": "a"}, modes={"etc/c": 0o600}, folders={"tmp": 0o1777, "var/lib": 0o700}
        )
        with tarfile.open(fileobj=io.BytesIO(made)) as outer:
            files = {name: outer.extractfile(name) for name in outer.getnames()}
            (manifest,) = json.load(files["manifest.json"])  # type: ignore[arg-type]
            config = json.load(files[manifest["Config"]])  # type: ignore[arg-type]
            with tarfile.open(fileobj=files[manifest["Layers"][0]]) as layer:
                entries = {entry.name: entry for entry in layer}
        self.assertEqual(["name:1"], manifest["RepoTags"])
        self.assertEqual(["/bin/a"], config["config"]["Entrypoint"])
        self.assertEqual({"bin", "etc", "tmp", "var", "var/lib", "bin/a", "bin/b", "etc/c"},
                         set(entries))
        modes = {name: entries[name].mode for name in ("bin/a", "etc/c", "tmp", "var", "var/lib")}
        self.assertEqual({"bin/a": 0o755, "etc/c": 0o600, "tmp": 0o1777, "var": 0o755,
                          "var/lib": 0o700}, modes)
        self.assertEqual("a", entries["bin/b"].linkname)

    def test_same_content_same_bytes(self) -> None:
        self.assertEqual(archive(), archive())
