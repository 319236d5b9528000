"""Clusters as their users see them: through the API, and with kubectl and etcdctl on a master."""

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kubernetes import client

from tools.client.machines import Remote

KUBECTL = "sudo kubectl --kubeconfig /etc/kubernetes/admin.conf"


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
            f"{KUBECTL} --namespace kube-system get secret tacker-vim --output json"
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

    def all_nodes(self) -> set[str]:
        """Names of all nodes, ready or not."""
        return {node.metadata.name for node in self.core.list_node().items}

    def node_at(self, address: str) -> str:
        """Name of the node whose machine has the address."""
        return next(
            str(node.metadata.name)
            for node in self.core.list_node().items
            if any(a.address == address for a in node.status.addresses)
        )

    def mark(self, node: str, labels: dict[str, str], taint: dict[str, str]) -> None:
        body = {"metadata": {"labels": labels}, "spec": {"taints": [taint]}}
        self.core.patch_node(node, body, _preload_content=False)

    def make_workload(self, image: str, master: Remote) -> None:
        """Six pods of which two may be away, and a pod of nobody's."""
        self.apps.create_namespaced_deployment(
            "default", deployment("load", image, replicas=6, spread=False)
        )
        # The API's version of budgets is not the same in all series: kubectl knows.
        master.run(
            f"{KUBECTL} create poddisruptionbudget load --selector=app=load --min-available=4"
        )
        pod = deployment("bare", image, replicas=1, spread=False)["spec"]["template"]["spec"]
        self.core.create_namespaced_pod("default", {"metadata": {"name": "bare"}, "spec": pod})

    def run_everywhere(self, name: str, image: str) -> None:
        """A pod on each node, masters included, for which the image is pulled."""
        everywhere = deployment(name, image, replicas=1, spread=False)
        spec = everywhere["spec"]["template"]["spec"]
        spec["tolerations"] = [{"operator": "Exists"}]
        spec["containers"][0]["imagePullPolicy"] = "Always"
        del everywhere["spec"]["replicas"]
        self.apps.create_namespaced_daemon_set("default", {**everywhere, "kind": "DaemonSet"})

    def running_everywhere(self) -> dict[str, int]:
        """How many pods are ready of each DaemonSet, by name."""
        found = self.apps.list_namespaced_daemon_set("default").items
        return {item.metadata.name: item.status.number_ready or 0 for item in found}

    def claim(self, name: str) -> None:
        """Claim any PersistentVolume that is registered."""
        spec = {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}},
        }
        body = {"metadata": {"name": name}, "spec": spec}
        self.core.create_namespaced_persistent_volume_claim("default", body)

    def run_with_claim(self, name: str, image: str, node: str, claim: str) -> None:
        """A pod on a node, with what was claimed at /data, and a label that says so."""
        pod = deployment(name, image, replicas=1, spread=False)["spec"]["template"]
        spec = pod["spec"]
        spec["nodeName"] = node
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        metadata = {"name": name, "labels": {"claim": claim}}
        self.core.create_namespaced_pod("default", {"metadata": metadata, "spec": spec})

    def is_running(self, pod: str) -> bool:
        statuses = self.core.read_namespaced_pod(pod, "default").status.container_statuses
        return bool(statuses) and all(status.ready for status in statuses)

    def volumes(self) -> dict[str, tuple[str, str]]:
        """Phase and UID of the PersistentVolumes, by name."""
        found = self.core.list_persistent_volume().items
        return {v.metadata.name: (v.status.phase, v.metadata.uid) for v in found}

    def replicas(self) -> int:
        """How many pods of the Deployment are ready."""
        return self.apps.read_namespaced_deployment("load", "default").status.ready_replicas or 0

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


_ETCDCTL = (
    "etcdctl --cacert /etc/kubernetes/pki/etcd/ca.crt --write-out json "
    "--cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key "
    "--endpoints https://127.0.0.1:2379"
)


def _etcdctl(master: Remote, node: str, words: str) -> Any:
    """What etcdctl says in the etcd of a master, which is the node of that name."""
    pod = f"etcd-{node}"
    command = f"{KUBECTL} exec --namespace kube-system {pod} -- {_ETCDCTL} {words}"
    return json.loads(master.run(command))


def healthy_etcd_members(master: Remote, node: str) -> set[str]:
    """Names of etcd's members, all of which must be started, voting and healthy."""
    members = _etcdctl(master, node, "member list")["members"]
    if any(member.get("isLearner") for member in members):
        raise AssertionError(f"learners among {members}")
    health = _etcdctl(master, node, "endpoint health --cluster")
    if len(health) != len(members) or not all(entry["health"] for entry in health):
        raise AssertionError(f"health of etcd: {health}")
    return {member["name"] for member in members}


def etcd_leader(master: Remote, node: str) -> str:
    """Name of the member that leads."""
    leader = _etcdctl(master, node, "endpoint status")[0]["Status"]["leader"]
    members = _etcdctl(master, node, "member list")["members"]
    return next(str(member["name"]) for member in members if member["ID"] == leader)


def balanced(master: Remote) -> set[str]:
    """Names of the backends of a master's HAProxy, which must run with what its file says."""
    master.run("sudo systemctl is-active haproxy keepalived")
    lines = master.run("sudo cat /etc/haproxy/haproxy.cfg").splitlines()
    return {line.split()[1] for line in lines if line.strip().startswith("server ")}


def deployment(name: str, image: str, replicas: int, spread: bool = True) -> dict[str, Any]:
    """A Deployment of web servers that answer with the name of their node."""
    command = 'mkdir /www && echo "$NODE" >/www/index.html && exec busybox httpd -f -p 8080 -h /www'
    labels = {"app": name}
    container = {
        "name": "web",
        "image": image,
        "command": ["/bin/busybox", "sh", "-c", command],
        "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
    }
    constraint = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    constraints = [constraint] if spread else []
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [container],
                    "topologySpreadConstraints": constraints,
                    "terminationGracePeriodSeconds": 1,  # it knows no goodbye
                },
            },
        },
    }


def _service(name: str) -> dict[str, Any]:
    ports = [{"port": 8080, "targetPort": 8080}]
    return {
        "metadata": {"name": name},
        "spec": {"type": "NodePort", "selector": {"app": name}, "ports": ports},
    }
