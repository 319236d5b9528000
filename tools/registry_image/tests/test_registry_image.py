import contextlib
import hashlib
import io
import json
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.registry_image import cli, debian, image
from tools.registry_image.errors import ImageError

Members = dict[str, bytes | str]

REGISTRY: Members = {"./usr/bin/docker-registry": b"registry"}
LIBC: Members = {
    "./lib/x86_64-linux-gnu/libc.so.6": b"libc",
    "./lib/x86_64-linux-gnu/libm.so.6": b"libm",
    "./lib/x86_64-linux-gnu/ld-linux-x86-64.so.2": b"loader",
    "./lib64/ld-linux-x86-64.so.2": "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
}
MERGED_LIBC: Members = {name.replace("./lib", "./usr/lib"): value for name, value in LIBC.items()}


def file_tar(members: Members, mtime: int = 0) -> bytes:
    """Return a tar of files, given as bytes, and symbolic links, given as text."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, value in members.items():
            entry = tarfile.TarInfo(name)
            entry.mtime = mtime
            if isinstance(value, str):
                entry.type, entry.linkname = tarfile.SYMTYPE, value
                archive.addfile(entry)
            else:
                entry.size = len(value)
                archive.addfile(entry, io.BytesIO(value))
    return stream.getvalue()


def make(*tars: bytes) -> bytes:
    return image.pack(debian.select_programs(tars))


class ImageTest(unittest.TestCase):
    def setUp(self) -> None:
        packed = make(file_tar(REGISTRY), file_tar(LIBC))
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            self.files = {member.name: self.read(archive, member) for member in archive}
        (self.manifest,) = json.loads(self.files["manifest.json"])
        self.layer = self.files[self.manifest["Layers"][0]]

    @staticmethod
    def read(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
        stream = archive.extractfile(member)
        return stream.read() if stream else b""

    def test_same_inputs_give_same_bytes(self) -> None:
        expected = make(file_tar(REGISTRY), file_tar(LIBC))
        self.assertEqual(make(file_tar(LIBC, mtime=9), file_tar(REGISTRY, mtime=9)), expected)

    def test_usr_merge_makes_no_difference(self) -> None:
        expected = make(file_tar(REGISTRY), file_tar(LIBC))
        self.assertEqual(make(file_tar(REGISTRY), file_tar(MERGED_LIBC)), expected)

    def test_is_what_docker_load_takes(self) -> None:
        self.assertEqual(self.manifest["RepoTags"], ["registry:2"])
        content = self.files[self.manifest["Config"]]
        self.assertEqual(self.manifest["Config"], f"{hashlib.sha256(content).hexdigest()}.json")
        config = json.loads(content)
        digest = hashlib.sha256(self.layer).hexdigest()
        self.assertEqual(config["rootfs"]["diff_ids"], [f"sha256:{digest}"])
        self.assertEqual((config["os"], config["architecture"]), ("linux", "amd64"))
        self.assertEqual(config["config"]["Entrypoint"], ["/bin/registry", "serve"])

    def test_layer_holds_what_the_binary_needs(self) -> None:
        with tarfile.open(fileobj=io.BytesIO(self.layer)) as archive:
            self.assertEqual(self.read(archive, archive.getmember("bin/registry")), b"registry")
            self.assertEqual(archive.getmember("bin/registry").mode, 0o755)
            loader = archive.getmember("lib64/ld-linux-x86-64.so.2")
            self.assertEqual(loader.linkname, "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
            self.assertEqual(archive.getmember("tmp").mode, 0o1777)
            self.assertNotIn("lib/x86_64-linux-gnu/libm.so.6", archive.getnames())
            self.assertIn(image.CONFIG_PATH, archive.getnames())

    def test_wrong_packages_are_refused(self) -> None:
        for tars in ([file_tar(LIBC)], [file_tar(REGISTRY)]):
            with self.assertRaisesRegex(ImageError, "do not hold usr/bin/docker-registry"):
                debian.select_programs(tars)

    def test_unknown_architecture_is_refused(self) -> None:
        other = {name.replace("x86_64-", "m68k-"): value for name, value in LIBC.items()}
        with self.assertRaisesRegex(ImageError, "m68k-linux-gnu"):
            debian.select_programs([file_tar(REGISTRY), file_tar(other)])


class CliTest(unittest.TestCase):
    def run_(self, *arguments: str) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            return cli.main(arguments), out.getvalue()

    def test_writes_the_image_of_given_packages(self) -> None:
        tars = [file_tar(REGISTRY), file_tar(LIBC)]
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder, "images", "registry.tar")
            with mock.patch.object(debian, "file_tar", side_effect=tars):
                status, out = self.run_("-o", str(output), "--deb", "a.deb", "b.deb")
            self.assertEqual(status, 0, out)
            self.assertEqual(output.read_bytes(), make(*tars))
            self.assertIn(hashlib.sha256(output.read_bytes()).hexdigest(), out)

    def test_says_what_to_do_without_packages(self) -> None:
        with mock.patch.object(debian, "_run", side_effect=ImageError("run 'apt-get update'")):
            status, out = self.run_("-o", "/nonexistent/never")
        self.assertEqual(status, 1)
        self.assertIn("error: run 'apt-get update'", out)
