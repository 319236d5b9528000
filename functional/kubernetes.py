"""What the scenarios know of Kubernetes: where it comes from, and clusters seen from outside."""

import base64
import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kubernetes import client

from functional.config import CONFIG
from functional.nodes import Remote
from functional.report import step

_KEY = "Files/kubernetes.asc"


def repository_key() -> dict[str, Path]:
    """The key of the cloud's own package repository, by its name in the VNF package."""
    if not CONFIG.kubernetes_mirror:
        return {}
    CONFIG.build.mkdir(parents=True, exist_ok=True)
    path = CONFIG.build / "kubernetes.asc"
    urllib.request.urlretrieve(f"{CONFIG.kubernetes_mirror}/apt/Release.key", path)
    return {_KEY: path}


def source_params(image_repository: str | None) -> dict[str, Any]:
    """Parameters that say where Kubernetes comes from; none for its project's own places."""
    if not CONFIG.kubernetes_mirror:
        return {"image_repository": image_repository}
    return {
        "kubernetes_version": CONFIG.kubernetes_version,
        "package_repository": {"url": f"{CONFIG.kubernetes_mirror}/apt", "key_path": _KEY},
        "image_repository": image_repository,
    }


def push_images(machine: Remote, registry: str) -> None:
    """Push the mirror's images from a machine with Docker into a registry (host and port)."""
    with step(f"push the images of Kubernetes to {registry}"):
        settings = json.dumps({"insecure-registries": [registry]})
        machine.run(f"echo '{settings}' | sudo tee /etc/docker/daemon.json")
        machine.run("sudo systemctl reload docker")
        machine.run(_PUSH.format(mirror=CONFIG.kubernetes_mirror, registry=registry))


_PUSH = """set -e
mkdir -p ~/images && cd ~/images
curl --silent --fail --remote-name {mirror}/images/SHA256SUMS
while read -r _ name; do
    curl --silent --fail --remote-name "{mirror}/images/$name"
done <SHA256SUMS
sha256sum --check --quiet SHA256SUMS
for archive in *.tar; do
    image=$(sudo docker load --quiet --input "$archive" | sed 's/^Loaded image: //')
    sudo docker tag "$image" "{registry}/${{image##*/}}"
    sudo docker push --quiet "{registry}/${{image##*/}}"
done
"""


class Cluster:
    """A cluster, asked with the credentials that Tacker has as VIM."""

    def __init__(self, url: str, token: str, ca: Path) -> None:
        configuration = client.Configuration()
        configuration.host = url
        configuration.ssl_ca_cert = str(ca)
        configuration.api_key = {"authorization": f"Bearer {token}"}
        api = client.ApiClient(configuration)
        # The client's types say that anything may be missing.
        self.core: Any = client.CoreV1Api(api)
        self.apps: Any = client.AppsV1Api(api)

    @classmethod
    def of_vim(cls, url: str, master: Remote, folder: Path) -> "Cluster":
        """Log in as the VIM's service account; Tacker itself does not show its token."""
        shown = master.run(
            "sudo kubectl --kubeconfig /etc/kubernetes/admin.conf --namespace kube-system "
            "get secret tacker-vim --output json"
        )
        data = json.loads(shown)["data"]
        ca = folder / "ca.crt"
        ca.write_bytes(base64.b64decode(data["ca.crt"]))
        return cls(url, base64.b64decode(data["token"]).decode(), ca)

    def nodes(self) -> dict[str, list[str]]:
        """Roles of the nodes that are ready, by name."""
        prefix = "node-role.kubernetes.io/"
        return {
            node.metadata.name: sorted(
                label.removeprefix(prefix)
                for label in node.metadata.labels
                if label.startswith(prefix)
            )
            for node in self.core.list_node().items
            if any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)
        }

    def pods(self, label: str) -> list[Any]:
        found: list[Any] = self.core.list_namespaced_pod("default", label_selector=label).items
        return found

    @contextmanager
    def web_server(self, name: str, image: str, replicas: int) -> Iterator[int]:
        """Pods that answer with their node's name, behind a NodePort, which is given."""
        self.apps.create_namespaced_deployment("default", deployment(name, image, replicas))
        try:
            service = self.core.create_namespaced_service("default", _service(name))
            yield service.spec.ports[0].node_port
        finally:
            # What a server of another series answers, the client may not understand.
            self.apps.delete_namespaced_deployment(name, "default", _preload_content=False)
            self.core.delete_namespaced_service(name, "default", _preload_content=False)


def deployment(name: str, image: str, replicas: int) -> dict[str, Any]:
    """A Deployment of web servers that answer with the name of their node."""
    command = 'mkdir /www && echo "$NODE" >/www/index.html && exec busybox httpd -f -p 8080 -h /www'
    labels = {"app": name}
    container = {
        "name": "web",
        "image": image,
        "command": ["/bin/busybox", "sh", "-c", command],
        "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], "topologySpreadConstraints": [spread]},
            },
        },
    }


def _service(name: str) -> dict[str, Any]:
    ports = [{"port": 8080, "targetPort": 8080}]
    return {
        "metadata": {"name": name},
        "spec": {"type": "NodePort", "selector": {"app": name}, "ports": ports},
    }
