"""The images that machines pull: listed, and pushed into a registry."""

import hashlib
import json
import os
import shutil
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

from tools.client.config import CONFIG
from tools.client.packages import SOURCES
from tools.images import cli as program
from tools.images import references
from tools.k8s_vnf.app import main

_KUBEADM = """#!/bin/sh
[ "$*" = "config images list --kubernetes-version v1.37.2" ] || exit 1
echo registry.k8s.io/kube-proxy:v1.37.2
echo registry.k8s.io/coredns/coredns:v1.14.6
"""


_WORDS = "--include-crds --no-hooks --kube-version 1.37.0"
_POD = json.dumps({
    "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
    "spec": {"containers": [{"image": "example.com/web:1"}]},
})


class Image:
    def __init__(self, *tags: str) -> None:
        self.tags = list(tags)
        self.tagged: list[tuple[str, str]] = []

    def tag(self, repository: str, tag: str) -> None:
        self.tagged.append((repository, tag))


class ImagesTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.kubeadm = Path(folder.name, "kubeadm")
        self.kubeadm.write_text(_KUBEADM)
        self.kubeadm.chmod(0o755)
        self.archive = Path(folder.name, "images.tar")
        self.archive.touch()
        self.engine: Any = mock.Mock()
        self.engine.api.push.return_value = [{"status": "ok"}]

    def run_program(self, *words: str) -> tuple[int, str, str]:
        """Exit status, and what was printed on each stream."""
        with (
            redirect_stdout(StringIO()) as shown,
            redirect_stderr(StringIO()) as errors,
            mock.patch.object(program.docker, "from_env", return_value=self.engine),
        ):
            status = main(["image", *words])
        return status, shown.getvalue(), errors.getvalue()

    def list_chart(self, helm: str, *values: str) -> tuple[int, str, str]:
        """List the images of a chart with a program in the place of Helm, if any."""
        folder, package = self.archive.parent, self.archive.parent / "package"
        shutil.copytree(SOURCES / "kubernetes/Files", package / "Files")
        for name in ("web.tgz", *values):
            (package / name).touch()
        if helm:
            (folder / "helm").write_text(f"#!/bin/sh\n{helm}")
            (folder / "helm").chmod(0o755)
        words = ["--kubernetes-version", "1.37.2", "--kubeadm", str(self.kubeadm)]
        words += ["--package", str(package), "--addon", ":".join(["web.tgz", *values])]
        with mock.patch.dict(os.environ, PATH=str(folder)):
            return self.run_program("list", *words)

    def test_images_of_a_chart(self) -> None:
        helm = f"""case "$*" in "template addon "*"/web.tgz {_WORDS} --values="*/values.yaml) ;;
            *) exit 1 ;; esac
            echo '{_POD}'"""
        status, shown, errors = self.list_chart(helm, "values.yaml")
        self.assertEqual((0, ""), (status, errors))
        self.assertIn("example.com/web:1\n", shown)
        self.assertIn("registry.k8s.io/coredns/coredns:v1.14.6\n", shown)

    def test_a_chart_without_helm(self) -> None:
        status, shown, errors = self.list_chart("")
        self.assertEqual((1, ""), (status, shown))
        self.assertIn("Helm alone, which is not installed here", errors)
        self.assertIn("web.tgz --include-crds --no-hooks --kube-version 1.37.0`", errors)

    def test_a_chart_that_helm_refuses(self) -> None:
        status, _, errors = self.list_chart("echo 'no such value' >&2; exit 1")
        self.assertEqual(1, status)
        self.assertIn("web.tgz: no such value", errors)

    def test_images_of_kubernetes_and_of_the_package(self) -> None:
        words = ("--kubernetes-version", "1.37.2", "--kubeadm", str(self.kubeadm))
        status, shown, _ = self.run_program("list", *words)
        self.assertEqual(0, status)
        self.assertIn("registry.k8s.io/coredns/coredns:v1.14.6\n", shown)
        self.assertRegex(shown, r"(?m)^ghcr\.io/flannel-io/flannel:v[\d.]+$")
        self.assertIn("registry.k8s.io/networking/kube-network-policies:v", shown)

    def test_a_version_that_is_none_is_refused(self) -> None:
        for version in ("1.19", "1.37.x", "newest"):
            with redirect_stderr(StringIO()) as errors, self.assertRaises(SystemExit):
                main(["image", "list", "--kubernetes-version", version])
            self.assertRegex(errors.getvalue(), rf"'{version}': a version from 1\.20 to ")

    def test_archives_are_pushed_under_short_names(self) -> None:
        image = Image("registry.k8s.io/coredns/coredns:v1.14.6")
        self.engine.images.load.return_value = [image]
        status, shown, _ = self.run_program("push", "r:5000/k8s", str(self.archive))
        self.assertEqual((0, "pushed r:5000/k8s/coredns:v1.14.6\n"), (status, shown))
        self.assertEqual([("r:5000/k8s/coredns", "v1.14.6")], image.tagged)

    def test_an_image_of_another_name_takes_no_place(self) -> None:
        real = "registry.k8s.io/kube-proxy:v1.37.2"
        for reference, error in (
            ("evil/kube-proxy:v1.37.2", "is no image of Kubernetes"),
            ("kube-proxy:v1.37.2", "is no image of Kubernetes"),
            ("registry.k8s.io/evil/kube-proxy:v1.37.2", "is no image of Kubernetes"),
            ("registry.k8s.io.evil/kube-proxy:v1.37.2", "is no image of Kubernetes"),
            ("registry.k8s.io/kube-proxy@sha256:aa", "without a digest"),
            ("registry.k8s.io:5000/kube-proxy", "name the image by a tag"),
        ):
            images = [Image(real), Image(reference)]
            self.engine.images.load.return_value = images
            status, _, errors = self.run_program("push", "r:5000/k8s", str(self.archive))
            self.assertEqual(1, status)
            self.assertIn(f"error: {reference}", errors)
            self.assertIn(error, errors)
            self.assertEqual([], images[0].tagged + images[1].tagged)

    def test_images_of_the_pod_network_and_old_names(self) -> None:
        _, shown, _ = self.run_program(
            "list", "--kubernetes-version", "1.37.2", "--kubeadm", str(self.kubeadm)
        )
        names = [name for name in shown.split() if "flannel" in name]
        images = [Image(name) for name in (*names, "k8s.gcr.io/kube-proxy:v1.20.2")]
        self.engine.images.load.return_value = images
        status, shown, _ = self.run_program("push", "r:5000/k8s", str(self.archive))
        self.assertEqual(0, status)
        self.assertIn("pushed r:5000/k8s/flannel:v", shown)
        self.assertIn("pushed r:5000/k8s/kube-proxy:v1.20.2", shown)

    def test_the_digest_of_kubeadm(self) -> None:
        words = ("list", "--kubernetes-version", "1.37.2", "--kubeadm", str(self.kubeadm))
        digest = hashlib.sha256(_KUBEADM.encode()).hexdigest()
        self.assertEqual(0, self.run_program(*words, "--kubeadm-sha256", digest)[0])
        status, _, errors = self.run_program(*words, "--kubeadm-sha256", "ab" * 32)
        self.assertEqual(1, status)
        self.assertIn(f"kubeadm: SHA-256 is {digest}, not abab", errors)

    def test_kubeadm_comes_over_https_only(self) -> None:
        answer = mock.Mock(url="http://cdn.example.com/kubeadm", history=[], content=b"x")
        with mock.patch.object(references.requests, "get", return_value=answer):
            status, _, errors = self.run_program("list", "--kubernetes-version", "1.37.2")
        self.assertEqual(1, status)
        self.assertIn("leads to http://cdn.example.com/kubeadm: kubeadm is taken over", errors)

    def test_what_a_registry_refuses_is_an_error(self) -> None:
        self.engine.images.load.return_value = [Image("registry.k8s.io/a:1")]
        self.engine.api.push.return_value = [{"error": "denied"}]
        status, _, errors = self.run_program("push", "r:5000", str(self.archive))
        self.assertEqual((1, "error: r:5000/a:1: denied\n"), (status, errors))

    def test_a_cloud_has_the_images_of_the_version(self) -> None:
        pushed: list[tuple[str, str]] = []

        def push(registry: str) -> None:
            pushed.append((registry, CONFIG.kubernetes_version))

        with (
            mock.patch.dict(os.environ, {**os.environ, "OS_CLOUD": "x"}, clear=True),
            mock.patch("tools.images.cli.kubernetes_source.push_images", push),
        ):
            words = ["push", "--from-cloud", "--kubernetes-version", "1.36", "r:5000"]
            self.assertEqual(0, self.run_program(*words)[0])
        self.assertEqual([("r:5000", "1.36")], pushed)

    def test_a_cloud_is_chosen_before_it_is_asked(self) -> None:
        for words, variables, error in (
            (("r/k8s",), {"OS_CLOUD": "x"}, "takes a registry as ADDRESS:PORT"),
            (("r:5000", str(self.archive)), {"OS_CLOUD": "x"}, "and no archive"),
            (("r:5000",), {}, "no cloud is chosen"),
        ):
            with (
                redirect_stderr(StringIO()) as errors,
                mock.patch.dict(os.environ, variables, clear=True),
                self.assertRaises(SystemExit) as ended,
            ):
                main(["image", "push", "--from-cloud", *words])
            self.assertEqual(2, ended.exception.code)
            self.assertIn(error, errors.getvalue())
