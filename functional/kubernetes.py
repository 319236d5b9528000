"""Clusters as their users see them: through the API, and with kubectl and etcdctl on a master."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import urllib3
from kubernetes import client

from tools.client import machines, vim_rights, wait
from tools.client.errors import ClientError
from tools.client.machines import Remote

_REQUEST_LIMIT = 30.0  # seconds for bytes of an answer
# A connection ends when the virtual IP moves. Every method is sent again: objects have names.
_RETRIES = urllib3.Retry(3, backoff_factor=1, allowed_methods=None)
KUBECTL = machines.KUBECTL


class Cluster:
    """A cluster's API, used with the service account of the VIM."""

    def __init__(self, url: str, token: str, ca: Path) -> None:
        configuration = client.Configuration()
        configuration.host = url
        configuration.ssl_ca_cert = str(ca)
        configuration.api_key = {"authorization": f"Bearer {token}"}
        configuration.retries = _RETRIES
        api = client.ApiClient(configuration)
        limited = _with_timeout(api.rest_client.request)
        api.rest_client.request = limited  # type: ignore[method-assign]
        # In the client's types every attribute may be None.
        self.core: Any = client.CoreV1Api(api)
        self.apps: Any = client.AppsV1Api(api)

    @classmethod
    def from_vim(
        cls, url: str, master: Remote, folder: Path, name: str = "tacker-vim"
    ) -> "Cluster":
        """Read the service account's token on a master, since Tacker does not show it.

        The account gets the rights that scenarios need beyond those of CNFs.

        :param name: of the Secret with the token
        """
        vim_rights.extend(master)
        secret = master.run(f"{KUBECTL} --namespace kube-system get secret {name} --output json")
        data = json.loads(secret)["data"]
        ca = folder / "ca.crt"
        ca.write_bytes(base64.b64decode(data["ca.crt"]))
        return cls(url, base64.b64decode(data["token"]).decode(), ca)

    def ready_nodes(self) -> dict[str, list[str]]:
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

    def node_names(self) -> set[str]:
        """Names of all nodes, ready or not."""
        return {node.metadata.name for node in self.core.list_node().items}

    def kubelet_versions(self) -> dict[str, str]:
        """Releases of the nodes' kubelets, by node name."""
        nodes = self.core.list_node().items
        return {node.metadata.name: node.status.node_info.kubelet_version for node in nodes}

    def node_name_at(self, address: str) -> str:
        """Name of the node whose machine has the address."""
        return next(
            str(node.metadata.name)
            for node in self.core.list_node().items
            if any(a.address == address for a in node.status.addresses)
        )

    def label_and_taint(self, node: str, labels: dict[str, str], taint: dict[str, str]) -> None:
        body = {"metadata": {"labels": labels}, "spec": {"taints": [taint]}}
        self.core.patch_node(node, body, _preload_content=False)

    def create_workload(self, image: str, master: Remote) -> None:
        """A Deployment of six pods, of which two may be evicted, and a bare pod."""
        load = deployment("load", image, replicas=6, spread=False)
        create(self.apps.create_namespaced_deployment, load)
        # The API version of PodDisruptionBudgets differs between series: kubectl knows it.
        master.run(
            f"{KUBECTL} create poddisruptionbudget load --selector=app=load --min-available=4"
        )
        pod = deployment("bare", image, replicas=1, spread=False)["spec"]["template"]["spec"]
        create(self.core.create_namespaced_pod, {"metadata": {"name": "bare"}, "spec": pod})

    def run_on_every_node(self, name: str, image: str, runtime: str | None = None) -> None:
        """Run a DaemonSet on all nodes, masters included, which pulls the image.

        :param runtime: name of a RuntimeClass
        """
        daemon_set = deployment(name, image, replicas=1, spread=False)
        spec = daemon_set["spec"]["template"]["spec"]
        spec["tolerations"] = [{"operator": "Exists"}]
        spec["runtimeClassName"] = runtime
        spec["containers"][0]["imagePullPolicy"] = "Always"
        del daemon_set["spec"]["replicas"]
        body = {**daemon_set, "kind": "DaemonSet"}
        create(self.apps.create_namespaced_daemon_set, body)

    @contextmanager
    def daemon_set(self, name: str, image: str, runtime: str | None = None) -> Iterator[None]:
        """Run a DaemonSet on all nodes for a while."""
        self.run_on_every_node(name, image, runtime)
        try:
            yield
        finally:
            delete(self.apps.delete_namespaced_daemon_set, name)

    def ready_pods_by_daemon_set(self) -> dict[str, int]:
        """How many pods of each DaemonSet are ready."""
        found = self.apps.list_namespaced_daemon_set("default").items
        return {item.metadata.name: item.status.number_ready or 0 for item in found}

    def claim_volume(self, name: str) -> None:
        """Claim any registered PersistentVolume."""
        spec = {
            "accessModes": ["ReadWriteMany"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1Gi"}},
        }
        body = {"metadata": {"name": name}, "spec": spec}
        create(self.core.create_namespaced_persistent_volume_claim, body)

    def run_with_claim(self, name: str, image: str, node: str, claim: str) -> None:
        """Run a pod on a node, with the claimed volume at /data and the claim's name as a label."""
        pod = deployment(name, image, replicas=1, spread=False)["spec"]["template"]
        spec = pod["spec"]
        spec["nodeName"] = node
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
        spec["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        metadata = {"name": name, "labels": {"claim": claim}}
        create(self.core.create_namespaced_pod, {"metadata": metadata, "spec": spec})

    def is_running(self, pod: str) -> bool:
        statuses = self.core.read_namespaced_pod(pod, "default").status.container_statuses
        return bool(statuses) and all(status.ready for status in statuses)

    def volumes(self) -> dict[str, tuple[str, str]]:
        """Phase and UID of the PersistentVolumes, by name."""
        found = self.core.list_persistent_volume().items
        return {v.metadata.name: (v.status.phase, v.metadata.uid) for v in found}

    def ready_replicas(self) -> int:
        """How many pods of the workload are ready."""
        return self.apps.read_namespaced_deployment("load", "default").status.ready_replicas or 0

    def pods(self, label: str, namespace: str = "default") -> list[Any]:
        found: list[Any] = self.core.list_namespaced_pod(namespace, label_selector=label).items
        return found

    @contextmanager
    def web_server(self, name: str, image: str, replicas: int) -> Iterator[int]:
        """Run pods that answer with their node's name; yields the NodePort of their service."""
        create(self.apps.create_namespaced_deployment, deployment(name, image, replicas))
        try:
            create(self.core.create_namespaced_service, _service(name))
            service = self.core.read_namespaced_service(name, "default")
            yield service.spec.ports[0].node_port
        finally:
            delete(self.apps.delete_namespaced_deployment, name)
            delete(self.core.delete_namespaced_service, name)


_ETCDCTL = (
    "etcdctl --cacert /etc/kubernetes/pki/etcd/ca.crt --write-out json "
    "--cert /etc/kubernetes/pki/etcd/server.crt --key /etc/kubernetes/pki/etcd/server.key "
    "--endpoints https://127.0.0.1:2379"
)


# A kubelet that has just lost its connection to the API refuses for a moment; a member on a busy
# machine answers late. A member that does not run has another error.
_PASSING = ("unable to upgrade connection: Authorization error", "etcdserver: request timed out")


def _etcdctl(master: Remote, node: str, words: str) -> str:
    """The output of etcdctl, run in the etcd pod of a master, whose node has that name."""
    pod = f"etcd-{node}"
    command = f"{KUBECTL} exec --namespace kube-system {pod} -- {_ETCDCTL} {words}"

    def ask() -> str:
        try:
            return master.run(command)
        except ClientError as error:
            if not is_passing(str(error)):
                raise
            return str(error)

    def is_passing(seen: str) -> bool:
        return any(words in seen for words in _PASSING)

    return wait.until(ask, lambda seen: not is_passing(seen), 60, "kubelet or etcd")


def read_etcd(master: Remote, node: str, key: str) -> str:
    """The beginning of what etcd keeps at a key, as far as it is text."""
    value = base64.b64decode(_ask_etcd(master, node, f"get {key}")["kvs"][0]["value"])
    return value[:64].decode(errors="replace")


def list_etcd(master: Remote, node: str, prefix: str) -> dict[str, str]:
    """The beginnings of all that etcd keeps at keys with a prefix, by key."""
    found = _ask_etcd(master, node, f"get {prefix} --prefix").get("kvs", ())
    decoded = [[base64.b64decode(item[part]) for part in ("key", "value")] for item in found]
    return {key.decode(): value[:64].decode(errors="replace") for key, value in decoded}


def _ask_etcd(master: Remote, node: str, words: str) -> Any:
    return json.loads(_etcdctl(master, node, words))


def healthy_etcd_members(master: Remote, node: str) -> set[str]:
    """Names of the members of etcd, all of which must be started, voting and healthy."""
    members = _ask_etcd(master, node, "member list")["members"]
    if any(member.get("isLearner") for member in members):
        raise AssertionError(f"learners among {members}")
    health = _ask_etcd(master, node, "endpoint health --cluster")
    if len(health) != len(members) or not all(entry["health"] for entry in health):
        raise AssertionError(f"health of etcd: {health}")
    return {member["name"] for member in members}


def etcd_leader(master: Remote, node: str) -> str:
    """Name of the leader of etcd."""
    leader = _ask_etcd(master, node, "endpoint status")[0]["Status"]["leader"]
    return next(name for name, number in _etcd_ids(master, node).items() if number == leader)


def move_etcd_leader(masters: Mapping[str, Remote], successor: str) -> None:
    """Let a master lead etcd; the masters come by node name."""
    node, master = next(iter(masters.items()))
    leader, number = etcd_leader(master, node), _etcd_ids(master, node)[successor]
    if leader != successor:
        _etcdctl(masters[leader], leader, f"move-leader {number:x}")
    seen = etcd_leader(master, node)
    if seen != successor:
        raise AssertionError(f"etcd's leader is {seen}, not {successor}")


def _etcd_ids(master: Remote, node: str) -> dict[str, int]:
    """The ids of etcd's members, by name."""
    members = _ask_etcd(master, node, "member list")["members"]
    return {member["name"]: member["ID"] for member in members}


def haproxy_backends(master: Remote) -> set[str]:
    """Names of the backends in a master's haproxy.cfg; HAProxy and Keepalived must be active."""
    master.run("sudo systemctl is-active haproxy keepalived")
    lines = master.run("sudo cat /etc/haproxy/haproxy.cfg").splitlines()
    return {line.split()[1] for line in lines if line.strip().startswith("server ")}


def keepalived_peers(master: Remote) -> set[str]:
    """Addresses of the other masters in a master's keepalived.conf."""
    text = master.run("sudo cat /etc/keepalived/keepalived.conf")
    return set(text.partition("unicast_peer {")[2].partition("}")[0].split())


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
                    "terminationGracePeriodSeconds": 1,  # httpd ignores SIGTERM
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


def create(request: Callable[..., Any], body: Mapping[str, Any]) -> None:
    """Create an object of the namespace ``default``.

    urllib3 sends the request again when no answer comes, and then it may find the object.
    """
    with _answers_suppressed(HTTPStatus.CONFLICT):
        request("default", body)


def delete(request: Callable[..., Any], name: str) -> None:
    """Delete an object of the namespace ``default``.

    urllib3 sends the request again when no answer comes, and then it may find nothing any more.
    """
    with _answers_suppressed(HTTPStatus.NOT_FOUND):
        # The client may not understand the answer of a server of another series.
        request(name, "default", _preload_content=False)


@contextmanager
def _answers_suppressed(status: HTTPStatus) -> Iterator[None]:
    """Take errors of the API with this status for success."""
    try:
        yield
    except client.exceptions.ApiException as error:
        if error.status != status:
            raise


def _with_timeout(request: Callable[..., Any]) -> Callable[..., Any]:
    """Let no request wait for ever: the virtual IP may move to a node that knows nothing of it."""

    def limited(*arguments: Any, **options: Any) -> Any:
        limit = options.pop("_request_timeout", None) or _REQUEST_LIMIT
        return request(*arguments, **options, _request_timeout=limit)

    return limited
