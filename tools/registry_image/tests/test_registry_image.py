import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from tools.k8s_vnf.app import main

_REGISTRY = ("usr/bin/docker-registry",)
_LIBC = tuple(
    f"lib/x86_64-linux-gnu/{name}" for name in ("libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2")
)
_PATHS = {
    "bin/registry": "docker-registry",
    "lib/libc.so.6": "libc.so.6",
    "lib/ld-linux-x86-64.so.2": "ld-linux-x86-64.so.2",
    "lib64/ld-linux-x86-64.so.2": "ld-linux-x86-64.so.2",
}


@unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg here")
class ImageTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def deb(self, *paths: str, architecture: str = "amd64", modified: int = 0) -> Path:
        """A package of files that hold their names."""
        source = Path(tempfile.mkdtemp(dir=self.folder))
        control = f"Package: p\nVersion: 1\nArchitecture: {architecture}\n"
        control += "Maintainer: M <m@example.com>\nDescription: d\n"
        for path, text in {"DEBIAN/control": control, **{p: Path(p).name for p in paths}}.items():
            file = source / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            os.utime(file, (modified, modified))
        deb = source.with_suffix(".deb")
        command = ["dpkg-deb", "--build", str(source), str(deb)]
        subprocess.run(command, check=True, capture_output=True)
        return deb

    def run_(self, *arguments: object) -> tuple[int, str]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            return main(["image", "registry", *map(str, arguments)]), out.getvalue()

    def make(self, *debs: Path) -> bytes:
        output = self.folder / "images" / "registry.tar"
        status, out = self.run_("-o", output, "--deb", *debs)
        self.assertEqual(status, 0, out)
        self.assertIn(hashlib.sha256(output.read_bytes()).hexdigest(), out)
        return output.read_bytes()

    def test_same_packages_give_same_bytes(self) -> None:
        expected = self.make(self.deb(*_REGISTRY), self.deb(*_LIBC))
        merged = [f"usr/{path}" for path in _LIBC]
        for libc in (self.deb(*_LIBC, modified=9), self.deb(*merged)):
            self.assertEqual(expected, self.make(libc, self.deb(*_REGISTRY, modified=9)))

    def test_is_what_docker_load_takes(self) -> None:
        packed = self.make(self.deb(*_REGISTRY), self.deb(*_LIBC))
        files = {name: content for name, (content, _) in self.members(packed).items()}
        (manifest,) = json.loads(files["manifest.json"])
        self.assertEqual(manifest["RepoTags"], ["registry:2"])
        config, layer = json.loads(files[manifest["Config"]]), files[manifest["Layers"][0]]
        digest = f"sha256:{hashlib.sha256(layer).hexdigest()}"
        self.assertEqual([digest], config["rootfs"]["diff_ids"])
        self.assertEqual((config["os"], config["architecture"]), ("linux", "amd64"))
        self.assertEqual(config["config"]["Entrypoint"], ["/bin/registry", "serve"])
        members = self.members(layer)
        settings, tmp = (members.pop(name) for name in (config["config"]["Cmd"][0][1:], "tmp"))
        self.assertIn(b"/var/lib/registry", settings[0])
        self.assertEqual(0o1777, tmp[1])
        programs = {name: (text.encode(), 0o755) for name, text in _PATHS.items()}
        self.assertEqual(programs, {name: each for name, each in members.items() if each[0]})

    def members(self, packed: bytes) -> dict[str, tuple[bytes, int]]:
        """Contents and modes of what a tar holds; folders have no content."""
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            return {
                member.name: (stream.read() if stream else b"", member.mode)
                for member, stream in ((each, archive.extractfile(each)) for each in archive)
            }

    def test_wrong_packages_are_refused(self) -> None:
        registry, libc = self.deb(*_REGISTRY), self.deb(*_LIBC)
        foreign = [self.deb(*paths, architecture="m68k") for paths in (_REGISTRY, _LIBC)]
        for debs, error in (
            ([libc], "do not hold docker-registry, libc.so.6 and its loader"),
            ([registry], "do not hold docker-registry"),
            (foreign, "not all of one of amd64, arm64"),
            ([registry, self.deb(*_LIBC, architecture="arm64")], "not all of one of"),
        ):
            output = self.folder / "never"
            status, out = self.run_("-o", output, "--deb", *debs)
            self.assertEqual((1, False), (status, output.exists()))
            self.assertRegex(out, f"^error: .*{error}")

    def test_without_packages_it_says_what_to_do(self) -> None:
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            status, out = self.run_("-o", self.folder / "never")
        self.assertEqual(1, status)
        self.assertIn("error: apt-get is not here; give the packages with --deb", out)
