"""Images by a registry's HTTP API, and those of a mirror."""

import hashlib
import io
import json
import os
import tarfile
import threading
import unittest
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, urlsplit

from tools import docker_archive
from tools.client import kubernetes_source
from tools.client.errors import ClientError
from tools.client.image_upload import copy_images, upload


class Registry(BaseHTTPRequestHandler):
    """A registry that checks what the specification wants, and a mirror of files."""

    server: Any

    def do_GET(self) -> None:
        content = self.server.files.get(self.path)
        self._answer(200 if content is not None else 404, content or b"")

    def do_POST(self) -> None:
        if self.server.full:
            self._answer(507, b"no space")
            return
        query = parse_qs(urlsplit(self.path).query)
        if self.server.blobs.keys() >= {*query.get("mount", [""])} and query["from"] == ["a"]:
            self._answer(201)
            return
        # As a registry does it: the place has a query of its own.
        self._answer(202, headers={"Location": f"{self.path}1?_state=x"})

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        query = parse_qs(urlsplit(self.path).query)
        if "/manifests/" in self.path:
            wanted = {entry["digest"] for entry in described(json.loads(content))}
            self.server.manifests[self.path] = content, self.headers["Content-Type"]
            self._answer(201 if wanted <= set(self.server.blobs) else 400)
            return
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self.server.blobs[digest] = content
        self.server.sent.append(digest)
        self._answer(201 if query == {"_state": ["x"], "digest": [digest]} else 400)

    def _answer(
        self, status: int, content: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def described(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    return [manifest["config"], *manifest["layers"]]


def archive(reference: str) -> bytes:
    stream = io.BytesIO()
    docker_archive.write(stream, reference, docker_archive.layer({"f": b"text"}), {"Env": []})
    return stream.getvalue()


class UploadTest(unittest.TestCase):
    def setUp(self) -> None:
        server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
        self.server = server
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        server.files, server.blobs, server.manifests, server.full = {}, {}, {}, False
        server.sent = []
        threading.Thread(target=self.server.serve_forever).start()
        self.address = f"127.0.0.1:{self.server.server_port}"

    def test_the_image_is_in_the_registry_under_its_short_name(self) -> None:
        content = archive("registry.k8s.io/coredns/coredns:v1.14.6")
        self.assertEqual("coredns:v1.14.6", upload(content, self.address))
        manifest, media_type = self.server.manifests["/v2/coredns/manifests/v1.14.6"]
        read = json.loads(manifest)
        self.assertEqual(media_type, read["mediaType"])
        blobs = [self.server.blobs[entry["digest"]] for entry in described(read)]
        self.assertEqual([len(b) for b in blobs], [entry["size"] for entry in described(read)])
        config, layer = blobs
        self.assertEqual({"Env": []}, json.loads(config)["config"])
        with tarfile.open(fileobj=io.BytesIO(layer)) as files:
            self.assertEqual(["f"], files.getnames())

    def test_a_layer_of_several_images_is_sent_once(self) -> None:
        layer, other = (docker_archive.layer({name: b"text"}) for name in ("f", "g"))
        stream = io.BytesIO()
        images: dict[str, tuple[list[bytes], dict[str, Any]]] = {
            "a:1": ([layer], {}), "b:1": ([layer, other], {}), "a:2": ([layer], {"Cmd": []})
        }
        docker_archive.write_all(stream, images)
        self.assertEqual("a:1, b:1, a:2", upload(stream.getvalue(), self.address))
        self.assertEqual(3, len(self.server.manifests))
        sent = [digest for digest in self.server.sent if self.server.blobs[digest] == layer]
        self.assertEqual(1, len(sent))

    def test_images_get_names_below_a_path(self) -> None:
        upload(archive("a:1"), self.address)
        content, media_type = self.server.manifests["/v2/a/manifests/1"]
        names = {"repositories": ["a", "k8s/a", "pause"]}
        self.server.files = {
            "/v2/_catalog": json.dumps(names).encode(),
            "/v2/a/tags/list": b'{"tags": ["1"]}',
            "/v2/a/manifests/1": content,
        }
        copied = copy_images(self.address, "k8s", lambda name: name != "pause")
        self.assertEqual(["k8s/a:1"], copied)
        self.assertEqual((content, media_type), self.server.manifests["/v2/k8s/a/manifests/1"])
        self.server.blobs.clear()
        with self.assertRaisesRegex(ClientError, "/v2/k8s/a: sha256:.* of a is not mounted"):
            copy_images(self.address, "k8s", lambda name: name == "a")

    def test_what_a_registry_refuses_is_an_error(self) -> None:
        self.server.full = True
        with self.assertRaisesRegex(ClientError, r"POST http://127.*/v2/a/.*: 507 no space"):
            upload(archive("a:1"), self.address)

    def test_no_registry_is_an_error(self) -> None:
        with self.assertRaisesRegex(ClientError, "POST http://127.0.0.1:1/v2/a/"):
            upload(archive("a:1"), "127.0.0.1:1")

    def push_mirrored(self, digest: str, content: bytes) -> None:
        folder = "/1.36/images"
        self.server.files = {
            f"{folder}/SHA256SUMS": f"{digest}  pause.tar\n".encode(),
            f"{folder}/pause.tar": content,
        }
        variables = {
            "FUNCTIONAL_KUBERNETES_MIRROR": f"http://{self.address}",
            "FUNCTIONAL_KUBERNETES_VERSION": "1.36",
        }
        with mock.patch.dict(os.environ, variables):
            kubernetes_source.push_images(self.address)

    def test_a_mirror_has_the_images_of_the_series(self) -> None:
        content = archive("registry.k8s.io/pause:3.10")
        self.push_mirrored(hashlib.sha256(content).hexdigest(), content)
        self.assertEqual(["/v2/pause/manifests/3.10"], list(self.server.manifests))

    def test_what_the_mirror_does_not_vouch_for_is_not_pushed(self) -> None:
        with self.assertRaisesRegex(ClientError, "pause.tar has another digest than in SHA256SUMS"):
            self.push_mirrored("0" * 64, archive("registry.k8s.io/pause:3.10"))
        self.assertEqual({}, self.server.blobs)
