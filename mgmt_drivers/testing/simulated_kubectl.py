"""kubectl on a simulated machine, and the objects of the cluster."""

import base64
import json
from typing import Any

from mgmt_drivers import package_yaml
from mgmt_drivers.cluster.nodes.kubectl import MANAGER
from mgmt_drivers.ssh.session import Result
from mgmt_drivers.testing.simulated_world import (
    OK,
    Programs,
    arguments_of,
    minor,
)

_NO_KIND = 'no matches for kind "Thing" in version "example.com/v1"'
_CONFLICT = 'Apply failed with 1 conflict: conflict with "kubectl-set" using apps/v1: .spec'
_FIXED = {"StorageClass": "parameters", "PersistentVolume": "spec"}  # nobody changes these fields
_CREATED = "2026-01-01T00:00:00Z"
_READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def _objects(stdin: bytes) -> dict[str, dict[str, Any]]:
    """The objects of a manifest, by the names that ``kubectl get --output name`` shows."""
    found = {}
    documents = package_yaml.load_all(stdin)
    listed = [d["items"] if d["kind"] == "List" else [d] for d in documents]
    for made in (made for items in listed for made in items):
        group, slash, _ = made["apiVersion"].partition("/")
        kind = made["kind"].lower() + (f".{group}" if slash else "")
        found[f"{kind}/{made['metadata']['name']}"] = made
    return found


def _with_defaults(made: dict[str, Any]) -> dict[str, Any]:
    """An object with the fields that the API adds."""
    if made["kind"] != "StatefulSet":
        return made
    strategy = {"type": "RollingUpdate", **made["spec"].get("updateStrategy", {})}
    if strategy["type"] == "RollingUpdate":
        strategy["rollingUpdate"] = {"partition": 0, **strategy.get("rollingUpdate", {})}
    return {**made, "spec": {**made["spec"], "updateStrategy": strategy}}


def _merge(target: dict[str, Any], patch: dict[str, Any]) -> None:
    """A merge patch (RFC 7386)."""
    for key, value in patch.items():
        if isinstance(value, dict):
            _merge(target.setdefault(key, {}), value)
        elif value is None:
            target.pop(key, None)
        else:
            target[key] = value


# As kube-apiserver 1.36 tells kubectl.
_NOT_READY = (
    'Error from server (InternalError): an error on the server ("[+]ping ok\n[+]log ok\n'
    "[-]etcd failed: reason withheld\n[+]poststarthook/start-apiextensions-informers ok\n"
    'readyz check failed") has prevented the request from succeeding'
)

class KubectlPrograms(Programs):
    """kubectl on a simulated machine, and the objects of the cluster."""

    def _kubectl(self, words: list[str], stdin: bytes) -> Result:
        own = {f"https://{address}:6443" for address in ("127.0.0.1", self.machine.address)}
        if own & {*words} and self.machine.name in self.world.unhealthy:
            return Result(1, stderr=_NOT_READY)
        if self.machine.role == "master" and "kube-apiserver" not in self.machine.programs:
            return Result(1, stderr="127.0.0.1:6443 was refused")
        if any(kind == "CORRUPT" for _, kind in self.world.databases.alarms):
            return Result(1, stderr="Error from server: etcdserver: corrupt cluster")
        if "/readyz" in words:
            return Result(0, "ok")
        verb, *rest = words[6:]
        reason = self.world.databases.why_not_written(self.world.alive_members())
        if reason and verb not in ("get", "delete"):
            return Result(1, stderr=f"Error from server: {reason}")
        if verb == "apply" and "--server-side" in rest:
            manager = rest[rest.index("--field-manager") + 1]
            return self._merged(stdin, "--force-conflicts" in rest, manager)
        if verb == "apply":
            self._applied(stdin)
            return Result(0, "object configured\n")
        if "--filename" in rest:
            return self._of_manifest(verb, stdin)
        if verb == "get" and "/" in rest[0]:
            return self._named([word for word in rest if "/" in word])
        done: Result = getattr(self, f"_kubectl_{verb}")(rest)
        return done

    def _of_manifest(self, verb: str, stdin: bytes) -> Result:
        if verb == "get":
            return self._managed(stdin)
        if verb == "wait":
            self.world.established |= {*_objects(stdin)}
        elif verb == "delete":
            for name in _objects(stdin):
                self.world.objects.pop(name, None)
        return OK

    def _compare_objects(self, words: list[str], stdin: bytes) -> Result:
        """kubectl get and kubectl diff --server-side."""
        world, objects = self.world, _objects(stdin)
        known = "".join(f"{name}\n" for name in objects if name in world.objects)
        if any(not world.serves(made) for made in objects.values()):
            return Result(2, known, _NO_KIND)
        foreign = {*world.changed, *world.client_side}
        if any(name in foreign and world.objects[name] != objects[name] for name in objects):
            return Result(2, known, _CONFLICT)
        changes = any(world.objects.get(n) != self._claimed(n, objects[n]) for n in objects)
        return Result(int(changes), known)

    def _rewrite_objects(self, words: list[str], stdin: bytes) -> Result:
        assert words[0] == "secrets", words
        self.world.write_secrets(is_all=True)
        return OK

    def _managed(self, stdin: bytes) -> Result:
        """Objects of a manifest as the cluster has them, with those who manage their fields."""
        items = []
        for name in filter(self.world.objects.__contains__, _objects(stdin)):
            # The API requires neither a manager nor a time.
            entries = [{"operation": "Update", "fieldsType": "FieldsV1"}]
            if (time := self.world.client_side.get(name)) is not None:
                client = {"manager": "kubectl-client-side-apply", "operation": "Update"}
                entries.append({**client, "time": time} if time else client)
            made = self.world.objects[name]
            metadata = {**_objects(stdin)[name]["metadata"], **made.get("metadata", {})}
            metadata = {**metadata, "creationTimestamp": _CREATED, "managedFields": entries}
            shown = _with_defaults({**_objects(stdin)[name], **made, "metadata": metadata})
            items.append({**shown, "status": self._rollout(name, shown)})
        return Result(0, json.dumps({"items": items}))

    def _rollout(self, name: str, shown: dict[str, Any]) -> dict[str, Any]:
        """The status of a workload: all pods are there, or missing, or of the former template.

        Beside the latter a Deployment already has the new pods, which do not start.
        """
        wanted = shown.get("spec", {}).get("replicas", 1)
        serving = 0 if name in self.world.stuck else wanted
        surge = wanted if name in self.world.former and shown["kind"] == "Deployment" else 0
        updated = surge if name in self.world.former else serving
        status = {"desiredNumberScheduled": wanted, "replicas": serving + surge}
        status |= dict.fromkeys(("availableReplicas", "readyReplicas", "numberAvailable"), serving)
        return status | dict.fromkeys(("updatedReplicas", "updatedNumberScheduled"), updated)

    def _claimed(self, name: str, made: dict[str, Any]) -> dict[str, Any]:
        """A volume with its reference to a claim, if another manager has set one."""
        held = self.world.held.get(name)
        return {**made, "spec": {**made["spec"], "claimRef": held}} if held else made

    def _is_refused(self, name: str, made: dict[str, Any]) -> bool:
        known, key = self.world.objects.get(name), _FIXED.get(made["kind"])
        if known is None or key is None:
            return False
        return bool(known.get(key) != self._claimed(name, made).get(key))

    def _merged(self, stdin: bytes, takes_over: bool, manager: str) -> Result:
        """Server-side apply: one object after another, and the errors at the end."""
        errors = []
        for name, made in _objects(stdin).items():
            if not self.world.serves(made):
                errors.append(_NO_KIND)
            elif name in {*self.world.changed, *self.world.client_side} and not takes_over:
                errors.append(_CONFLICT)
            elif self._is_refused(name, made):
                errors.append(f"{name}: Forbidden: field is immutable")
            else:
                if manager != MANAGER:
                    self.world.held[name] = made["spec"].get("claimRef")
                self.world.objects[name] = self._claimed(name, made)
        return Result(1 if errors else 0, "object serverside-applied\n", "".join(errors))

    def _applied(self, stdin: bytes) -> None:
        for document in package_yaml.load_all(stdin):
            if document["kind"] == "Secret":
                self.world.accounts.add(document["metadata"]["name"])
            if document["kind"] == "ClusterRoleBinding":
                name, role = document["metadata"]["name"], document["roleRef"]["name"]
                assert self.world.bindings.setdefault(name, role) == role, "its role is immutable"
            for item in document.get("items", ()):
                known = self.world.volumes.setdefault(item["metadata"]["name"], item)
                assert known == item, "its server is immutable"

    def _kubectl_get(self, words: list[str]) -> Result:
        world = self.world
        if words[0] == "nodes":
            return Result(0, json.dumps({"items": [world.shown(name) for name in world.nodes]}))
        if words[0] == "configmap":
            if words[1] != "kubeadm-config":
                return Result(0, json.dumps(world.objects.get("/".join(words[:2]), {})))
            config = {  # in the order in which kubeadm writes it
                "apiServer": {
                    "certSANs": world.api_names,
                    "extraArgs": (
                        [{"name": name, "value": value} for name, value in world.settings.items()]
                        if minor(world.release) > 30 else dict(sorted(world.settings.items()))
                    ),
                    "timeoutForControlPlane": "4m0s",
                },
                "imageRepository": world.repository, "kubernetesVersion": world.release,
            }
            data = {"ClusterConfiguration": package_yaml.dump(config)}
            return Result(0, json.dumps({"data": data}))
        if words[:2] == ["secret", "kubeadm-certs"] and world.certificates:
            owners = [{"kind": "Secret", "name": world.certificates}]
            return Result(0, json.dumps({"metadata": {"ownerReferences": owners}}))
        if words[0] == "secret" and words[1] not in world.accounts:
            return OK
        if words[0] == "secret":
            token = base64.b64encode(world.account_token(words[1]).encode()).decode()
            return Result(0, json.dumps({"data": {"token": token, "ca.crt": "Yw=="}}))
        if words[0] == "poddisruptionbudgets":
            return Result(0, json.dumps({"items": self.world.budgets}))
        if words[0] == "persistentvolumes":
            return Result(0, json.dumps({"items": self._volumes()}))
        if words[0] == "persistentvolumeclaims":
            return Result(0, json.dumps({"items": world.claims}))
        return Result(0, json.dumps({"items": self._pods(words)}))

    def _named(self, names: list[str]) -> Result:
        """Nodes and ConfigMaps by kind and name, such as ``node/n``, as far as there are any."""
        world, nodes = self.world, {f"node/{name}": name for name in self.world.nodes}
        found = [world.shown(nodes[n]) if n in nodes else world.objects.get(n) for n in names]
        items = list(filter(None, found))
        if len(names) == 1:  # kubectl makes no list then
            return Result(0, json.dumps(items[0]) if items else "")
        return Result(0, json.dumps({"items": items}) if items else "")

    def _pods(self, words: list[str]) -> list[dict[str, Any]]:
        if "--all-namespaces" in words:
            _, _, node = words[-3].rpartition("=")
            return [pod for pod in self.world.pods if pod["spec"]["nodeName"] == node]
        if words[3].startswith("--selector="):  # of a workload
            waiting = {"state": {"waiting": {"reason": "ImagePullBackOff"}}}
            return [{"metadata": {"name": "one"}, "status": {"containerStatuses": [waiting]}}]
        if "k8s-app=kube-dns" in words:
            return self._dns_pods()
        name = words[-3].partition("=")[2]
        components = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
        ready = "True" if self.world.machine_of(name) else "False"
        return [
            {
                "metadata": {"labels": {"component": component}},
                "status": {"conditions": [{"type": "Ready", "status": ready}]},
            }
            for component in components
        ]

    def _dns_pods(self) -> list[dict[str, Any]]:
        return [
            {
                "metadata": {"name": name},
                "spec": {"nodeName": node} if node else {},
                "status": self.world.dns_broken.get(name, _READY),
            }
            for name, node in self.world.dns_pods().items()
        ]

    def _kubectl_logs(self, words: list[str]) -> Result:
        if words[0] not in self.world.logs:
            return Result(1, stderr=f"Error from server (BadRequest): {words[0]} waits to start")
        return Result(0, f"{self.world.logs[words[0]]}\n")

    def _volumes(self) -> list[dict[str, Any]]:
        phase = {"phase": "Bound" if self.world.claimed else "Available"}
        objects = self.world.objects.items()
        own = [made for name, made in objects if name.startswith("persistentvolume/")]
        return [{**volume, "status": phase} for volume in (*self.world.volumes.values(), *own)]

    def _kubectl_patch(self, words: list[str]) -> Result:
        patch = json.loads(words[-1])
        if words[-3] == "json":  # the type
            assert [step["value"] for step in patch] == [
                "kubectl-client-side-apply", "tacker-mgmt-drivers", "Apply"
            ]
            kind, _, group = words[0].lower().partition(".v1.")
            del self.world.client_side[f"{kind}{group and '.'}{group}/{words[1]}"]
            return OK
        if words[0] == "persistentvolume":
            known = self.world.volumes
            return OK if words[1] in known else Result(1, stderr="Error from server (NotFound)")
        if words[0] == "configmap":
            config = package_yaml.load(patch["data"]["ClusterConfiguration"])
            server = config["apiServer"]
            assert "timeoutForControlPlane" in server, config
            self.world.repository = config["imageRepository"]
            self.world.api_names = server["certSANs"]
            self.world.settings = arguments_of(server)
            return OK
        _merge(self.world.nodes[words[1]], patch)
        return OK

    def _kubectl_drain(self, words: list[str]) -> Result:
        if self.world.budget:
            return Result(1, stderr=self.world.budget)
        ending = [pod for pod in self.world.pods if pod["spec"]["nodeName"] == words[0]]
        for pod in ending:
            pod["metadata"].setdefault("deletionTimestamp", "now")
        if ending:
            return Result(1, stderr="global timeout reached: 20s")
        self.world.drained.append(words[0])
        return OK

    def _kubectl_delete(self, words: list[str]) -> Result:
        kinds = {"node": self.world.nodes, "persistentvolume": self.world.volumes}
        for name in words[1:]:
            kinds.get(words[0], {}).pop(name, None)
            self.world.objects.pop(f"{words[0]}/{name}", None)
            self.world.held.pop(f"{words[0]}/{name}", None)
        for word in words:  # of which each may name its kind
            self.world.objects.pop(word, None)
            self.world.nodes.pop(word.removeprefix("node/"), None)
        if words[0] == "serviceaccount" and words[1] in self.world.accounts:
            self.world.accounts.clear()
            self.world.revoked += 1
        if words[0] == "clusterrolebinding" and self.world.bindings.pop(words[1], ""):
            return Result(0, "deleted\n")
        if words[0] == "pod":
            self.world.move_dns(words[1])
        if words[0] == "secret":
            self.world.accounts -= {*words[1:]}
            self.world.tokens -= {name.rpartition("-")[2] for name in words[1:]}
            if {"kubeadm-certs", self.world.certificates} <= set(words):
                self.world.certificates = ""
        return OK

    def _kubectl_label(self, words: list[str]) -> Result:
        node = self.world.nodes[words[1]]
        node["metadata"]["labels"] |= dict(word.split("=", 1) for word in words[3:])
        return OK

    def _kubectl_taint(self, words: list[str]) -> Result:
        key, _, rest = words[3].partition("=")
        value, _, effect = rest.rpartition(":")
        taints = self.world.nodes[words[1]]["spec"]["taints"]
        taint = {"key": key, "value": value, "effect": effect}
        if taint not in taints:
            taints.append(taint)
        return OK
