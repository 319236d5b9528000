import gzip
import io
import json
import lzma
import re
import tarfile
import unittest
from typing import Any

from tools.csar import build, overlay, sbom
from tools.csar.contents import Contents, InMemory

SCRIPT = "Scripts/install_k8s_cluster.sh"
FLANNEL = "ghcr.io/flannel-io/flannel"


def bill(files: Contents, drivers: Contents | None = None) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(sbom.bill(files, drivers or {}).content)
    return document


def components(document: dict[str, Any], kind: str = "") -> dict[str, dict[str, Any]]:
    return {c["bom-ref"]: c for c in document["components"] if c["bom-ref"].startswith(kind)}


def licence(component: dict[str, Any]) -> str:
    (found,) = component.get("licenses", [{"expression": ""}])
    return str(found.get("expression", found.get("license", {}).get("id")))


def archive_of(manifest: object, name: str = "manifest.json") -> bytes:
    listed, stream = json.dumps(manifest).encode(), io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(listed)
        archive.addfile(entry, io.BytesIO(listed))
    return stream.getvalue()


class SbomTest(unittest.TestCase):
    def setUp(self) -> None:
        self.cluster = overlay.of_package(build.PACKAGES / "kubernetes")
        self.registry = overlay.of_package(build.PACKAGES / "private_registry")

    def test_the_form(self) -> None:
        document = bill(self.cluster)
        self.assertEqual(
            ("CycloneDX", "1.6", 1),
            tuple(document[key] for key in ("bomFormat", "specVersion", "version")),
        )
        self.assertEqual("Kubernetes cluster", document["metadata"]["component"]["name"])
        self.assertEqual("1.0", document["metadata"]["component"]["version"])
        self.assertEqual(len(document["components"]), len(components(document)))
        self.assertEqual({"component"}, {*document["metadata"]})
        self.assertNotIn("serialNumber", document)

    def test_the_drivers_have_their_files(self) -> None:
        drivers: Contents = {"Scripts/driver.py": InMemory("driver.py", b"pass\n")}
        (found,) = components(bill(self.cluster, drivers), sbom._DRIVERS).values()
        self.assertEqual(["Scripts/driver.py"], [file["name"] for file in found["components"]])
        self.assertEqual(64, len(found["components"][0]["hashes"][0]["content"]))

    def test_packages_are_those_of_the_script(self) -> None:
        """Its words are looked up in its text, so that a new package is not forgotten."""
        text = self.cluster[SCRIPT].read_bytes().decode()
        always = re.findall(r'KUBERNETES_PACKAGES:-([\w ]+)}|NEEDED=\(([\w ]+) "', text)
        names = {name for match in always for name in "".join(match).split()}
        self.assertEqual({*sbom.SCRIPT}, names)
        runtimes = re.findall(r'wanted\+=\((?:"\${\w+/%docker/([\w.]+)}"|(\w[\w-]+))\)', text)
        self.assertEqual({*sbom.RUNTIMES}, {"containerd", *map("".join, runtimes)})
        found = components(bill(self.cluster), "package:")
        required = {c["name"] for c in found.values() if c["scope"] == "required"}
        self.assertEqual(names, required)
        self.assertEqual([], [name for name, c in found.items() if not licence(c)])
        self.assertEqual("GPL-2.0-or-later AND BSD-3-Clause", licence(found["package:nfs-common"]))

    def test_a_package_without_the_script(self) -> None:
        del self.cluster[SCRIPT]
        names = {c["name"] for c in components(bill(self.cluster), "package:").values()}
        self.assertEqual({*sbom.ON_REQUEST}, names)

    def test_images_of_manifests(self) -> None:
        found = components(bill(self.cluster), "image:")
        self.assertEqual({"Apache-2.0"}, {licence(image) for image in found.values()})
        versions = {image["name"]: image["version"] for image in found.values()}
        self.assertRegex(versions[FLANNEL], r"^v\d")
        agent = "registry.k8s.io/networking/kube-network-policies"  # of the package's add-on
        self.assertEqual({FLANNEL, f"{FLANNEL}-cni-plugin", agent}, {*versions})

    def test_references(self) -> None:
        digest = f"sha256:{'a' * 64}"
        for reference, name, version, purl in (
            ("nginx", "nginx", None, "library/nginx?repository_url=docker.io"),
            ("a/b:1", "a/b", "1", "a/b@1?repository_url=docker.io"),
            ("h:5000/b", "h:5000/b", None, "b?repository_url=h%3A5000"),
            (f"h.x/b:1@{digest}", "h.x/b", digest, f"b@sha256%3A{'a' * 64}?repository_url=h.x"),
        ):
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "image": reference}
            files: Contents = {"Files/x.yaml": InMemory("x.yaml", json.dumps(pod).encode())}
            (image,) = components(bill(files)).values()
            with self.subTest(reference):
                self.assertEqual((name, version), (image["name"], image.get("version")))
                self.assertEqual(f"pkg:docker/{purl}", image["purl"])
                self.assertEqual("", licence(image))
                self.assertEqual("Files/x.yaml", image["properties"][0]["value"])

    def test_images_of_archives(self) -> None:
        good = archive_of([{"RepoTags": ["registry:2.8"]}, {"RepoTags": None}])
        contents = (
            good, b"no archive", gzip.compress(good)[:-20], lzma.compress(good)[:-20],
            archive_of(5), archive_of([{"RepoTags": [{}, 1]}]), archive_of([{"RepoTags": 5}]),
        )
        files: Contents = {
            f"Files/images/{number}.tar": InMemory(f"{number}.tar", content)
            for number, content in enumerate(contents)
        }
        found = components(bill({**self.registry, **files}), "image:")
        self.assertEqual(["image:registry:2", "image:registry:2.8"], sorted(found))
        self.assertEqual({"Apache-2.0"}, {licence(image) for image in found.values()})
        self.assertIn("package:docker.io", components(bill(self.registry), "package:"))

    def test_bundles_have_their_own_components(self) -> None:
        parts = [sbom.component("application", "package:kubeadm", "kubeadm", version="1.37.2")]
        own = json.loads(sbom.document(sbom.component("application", "bundle", "x"), parts))
        bills: list[object] = [own, {}, 5]
        contents = [*(archive_of(each, "bom.cdx.json") for each in bills), b""]
        files: Contents = {
            f"Files/{number}.tar": InMemory(f"{number}.tar", content)
            for number, content in enumerate(contents)
        }
        (found,) = components(bill({**self.registry, **files}), "bundle:").values()
        self.assertEqual(("bundle:Files/0.tar", "x"), (found["bom-ref"], found["name"]))
        self.assertEqual(
            [{**parts[0], "bom-ref": "Files/0.tar#package:kubeadm"}], found["components"]
        )
