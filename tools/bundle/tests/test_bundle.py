"""The bundle, made by apt, gpg and skopeo themselves from sources that a test makes."""

import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

from tools.bundle import images, systems
from tools.bundle.apt import Apt
from tools.bundle.programs import BundleError
from tools.bundle.repository import find_key
from tools.bundle.tests import made_sources
from tools.bundle.tests.made_sources import IMAGES, KEY
from tools.k8s_vnf import app

_PROGRAMS = ("apt-get", "dpkg-deb", "gpg", "skopeo")
_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "amd64")
_FLANNEL = "ghcr.io/flannel-io/flannel:v1"
_EPOCH = {"cri-tools": "2:1.0+x"}
_MANIFEST = f"""
apiVersion: v1
kind: Pod
metadata: {{name: flannel}}
spec: {{containers: [{{image: "{_FLANNEL}"}}]}}
"""


# Under tox, the programs must be there: the command that runs the gate has installed them.
@unittest.skipUnless(
    all(map(shutil.which, _PROGRAMS)) or "TOX_ENV_NAME" in os.environ,
    f"needs {', '.join(_PROGRAMS)}",
)
class BundleTest(unittest.TestCase):
    folder: Path
    archive: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        variables = mock.patch.dict(os.environ, made_sources.variables(cls.folder))
        variables.start()
        cls.addClassCleanup(variables.stop)
        policy = cls.folder / ".config/containers/policy.json"
        policy.parent.mkdir(parents=True)
        policy.write_text('{"default": [{"type": "insecureAcceptAnything"}]}')
        made_sources.make_key(cls.folder / "gnupg")
        cls.addClassCleanup(subprocess.run, ["gpgconf", "--kill", "all"], check=False)
        own = dict.fromkeys((*systems.VERSIONED, "cri-tools"), "1.37.2-1") | _EPOCH
        others = {*systems.packages("debian-13", "containerd")} - {"helm", *own}
        for name, packages in (("own", own), ("system", dict.fromkeys(others, "1.0-1"))):
            made_sources.make_repository(cls.folder / name, packages, _ARCHITECTURE)
        url = f"copy:{cls.folder}/system"
        text = f"Types: deb\nURIs: {url}\nSuites: /\nSigned-By: {cls.folder}/system/key.asc\n"
        (cls.folder / "system.sources").write_text(text)
        package = cls.folder / "package/Files/kubernetes"
        package.mkdir(parents=True)
        (package / "flannel.yaml").write_text(_MANIFEST)
        cls.archive = made_sources.make_archive(cls.folder / "images.tar", [*IMAGES, _FLANNEL])

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.output = Path(folder.name, "bundle.tar")

    def run_command(self, *words: str, **more: Any) -> tuple[int, str]:
        """Exit status and output of the command, whose sources are those of this class.

        :param more: options in place of these; None leaves one out
        """
        given = {
            "output": self.output, "system": "debian-13", "key": KEY, "archive": self.archive,
            "kubernetes-version": "1.37", "architecture": _ARCHITECTURE,
            "sources": f"debian-13={self.folder}/system.sources",
            "package-repository": f"copy:{self.folder}/own",
            "package-key": self.folder / "own/key.asc", "package": self.folder / "package",
            **{name.replace("_", "-"): value for name, value in more.items()},
        }  # fmt: skip
        pairs = [w for name, value in given.items() if value for w in (f"--{name}", f"{value}")]
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(out):
            try:
                return app.main(["bundle", *pairs, *words]), out.getvalue()
            except SystemExit as error:
                return int(error.code or 0), out.getvalue()

    def make(self, *words: str) -> dict[str, bytes]:
        """The files of the bundle that the command has made."""
        status, said = self.run_command(*words)
        self.assertEqual(0, status, said)
        with tarfile.open(self.output) as archive:
            return {m.name: archive.extractfile(m).read() for m in archive}  # type: ignore[union-attr]

    def test_apt_installs_from_the_repository_of_packages(self) -> None:
        """apt of an empty machine that knows the bundle's key alone, and no other source."""
        files = self.make()
        place = Path(self.output.parent, "site")
        for name, content in files.items():
            path = place / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        url = f"copy:{place}/packages/1.37.2/debian-13"
        machine = Apt(
            place / "machine", _ARCHITECTURE,
            {"bundle.list": f"deb [signed-by={place}/key.asc] {url} /\n"},
        )
        machine.update()
        self.assertEqual({"kubeadm": ["1.37.2-1"]}, machine.versions(["kubeadm"]))
        names = [deb.file for deb in machine.fetch(["kubeadm", "haproxy"])]
        end = f"{_ARCHITECTURE}.deb"
        self.assertEqual(
            [f"cri-tools_1.0+x_{end}", f"haproxy_1.0-1_{end}", f"kubeadm_1.37.2-1_{end}"], names
        )
        (place / "packages/1.37.2/debian-13/InRelease").write_bytes(
            files["packages/1.37.2/debian-13/InRelease"].replace(b"Kubernetes", b"kubernetes")
        )
        with self.assertRaisesRegex(BundleError, "repeat the command"):
            machine.update()

    def test_the_key_of_somebody_with_the_same_address_is_left_out(self) -> None:
        other, own = self.output.parent / "gnupg", os.environ["GNUPGHOME"]
        with mock.patch.dict(os.environ, GNUPGHOME=str(other)):
            made_sources.make_key(other)
            public = find_key(KEY).export()
            subprocess.run(["gpgconf", "--kill", "all"], check=True)
        ring = self.output.parent / "own"
        shutil.copytree(own, ring, ignore=shutil.ignore_patterns("S.*"))
        with mock.patch.dict(os.environ, GNUPGHOME=str(ring)):
            before = find_key(KEY).export()
            subprocess.run(["gpg", "--batch", "--quiet", "--import"], input=public, check=True)
            self.assertEqual(before, find_key(KEY).export())

    def test_a_registry_has_the_images(self) -> None:
        files = self.make()
        root = "images/docker/registry/v2"
        for name, tag in (("kube-proxy", "v1.37.2"), ("coredns", "v1.14.6"), ("flannel", "v1")):
            own = f"{root}/repositories/kubernetes/{name}"
            digest = files[f"{own}/_manifests/tags/{tag}/current/link"].decode()
            self.assertEqual(digest.encode(), files[
                f"{own}/_manifests/revisions/sha256/{digest[7:]}/link"
            ])
            manifest = json.loads(blob(files, digest))
            for each in (manifest["config"], *manifest["layers"]):
                self.assertEqual(each["size"], len(blob(files, each["digest"])))
                link = files[f"{own}/_layers/sha256/{each['digest'][7:]}/link"]
                self.assertEqual(each["digest"].encode(), link)
        shared = [name for name in files if "/blobs/" in name]
        self.assertEqual(3 + 3 + 1, len(shared))  # manifests, configurations, and one layer

    def test_the_manifest_and_the_bill(self) -> None:
        files = self.make()
        manifest = json.loads(files["manifest.json"])
        self.assertEqual(("1.37.2", ["debian-13"]), (manifest["kubernetes"], manifest["systems"]))
        folder = "packages/1.37.2/debian-13"
        for package in manifest["packages"]:
            content = files[f"{folder}/{package['file']}"]
            self.assertEqual(hashlib.sha256(content).hexdigest(), package["sha256"])
            self.assertRegex(package["source"], f"^copy:{self.folder}/(own|system)/")
        by_name = {package["name"]: package for package in manifest["packages"]}
        self.assertEqual("2:1.0+x", by_name["cri-tools"]["version"])
        self.assertNotIn("helm", by_name)
        images = {image["reference"]: image for image in manifest["images"]}
        self.assertEqual({*IMAGES, _FLANNEL}, {*images})
        archive = hashlib.sha256(self.archive.read_bytes()).hexdigest()
        self.assertEqual(f"sha256:{archive}", images[_FLANNEL]["source"])
        bill = {each["bom-ref"]: each for each in json.loads(files["bom.cdx.json"])["components"]}
        self.assertEqual(len(manifest["packages"]) + len(images), len(bill))
        self.assertEqual(
            f"pkg:deb/debian/cri-tools@2%3A1.0%2Bx?arch={_ARCHITECTURE}&distro=debian-13",
            bill["package:debian-13:cri-tools"]["purl"],
        )

    def test_the_same_input_gives_the_same_bytes(self) -> None:
        self.make()
        first = self.output.read_bytes()
        self.output.unlink()
        self.make()
        self.assertEqual(first, self.output.read_bytes())
        self.assertEqual([self.output], [*self.output.parent.iterdir()])

    def test_a_later_attempt_goes_on(self) -> None:
        status, said = self.run_command("--image", "127.0.0.1:1/late:1")
        self.assertEqual(1, status)
        self.assertIn("skopeo copy ended with status", said)
        self.assertIn("name an archive that has the image by --archive", said)
        self.assertFalse(self.output.exists())
        with mock.patch.object(images, "run", side_effect=AssertionError("fetched again")):
            self.make()
        self.assertEqual([self.output], [*self.output.parent.iterdir()])

    def test_ctrl_c_leaves_what_was_fetched(self) -> None:
        with mock.patch.object(images, "run", side_effect=KeyboardInterrupt):
            status, said = self.run_command()
        self.assertEqual(130, status)
        self.assertIn("interrupted; repeat the command to go on from", said)
        self.assertEqual([f"{self.output}.parts"], [*map(str, self.output.parent.iterdir())])

    def test_faults_are_named_with_what_to_do(self) -> None:
        for words, more, text in (
            ((), {"key": "nobody@example.com"}, "Make one by `gpg --quick-generate-key 'nobody@"),
            ((), {"kubernetes_version": "1.37.9"}, "have no kubeadm 1.37.9; they have: 1.37.2-1"),
            (("--also", "vim"), {}, "no source of debian-13 has vim: name a source that has"),
            (("--image", "a.example/flannel:v1"), {}, "beside ghcr.io/flannel-io/flannel:v1"),
            (("--image", "a.example/other"), {}, "name the image by a tag"),
            ((), {"archive": self.folder / "own/key.asc"}, "key.asc is not a file made by `docker"),
            ((), {"package_key": self.archive}, "NO_PUBKEY"),
        ):
            with self.subTest(text):
                status, said = self.run_command(*words, **more)
                self.assertEqual(1, status, said)
                self.assertIn(text, said)
                self.assertFalse(self.output.exists())

    def test_what_does_not_go_together(self) -> None:
        for words, more, text in (
            (("--sources", f"debian-12={self.archive}"), {}, "that no --system names"),
            ((), {"package_repository": "http://a.example", "package_key": None}, "over https"),
            (("--runtime", "docker"), {}, "1.37 has no support for Docker"),
        ):
            status, said = self.run_command(*words, **more)
            self.assertEqual(2, status, said)
            self.assertIn(text, said)


def blob(files: dict[str, bytes], digest: str) -> bytes:
    """A blob of the registry's storage, which must have its digest."""
    content = files[f"images/docker/registry/v2/blobs/sha256/{digest[7:9]}/{digest[7:]}/data"]
    assert digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    return content
