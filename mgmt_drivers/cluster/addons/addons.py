"""The pod network and the add-ons of a cluster: their objects, and the record of add-ons.

Manifests are what projects publish, with two words in them that are replaced wherever they stand:
``@POD_CIDR@`` becomes the cluster's pod CIDR, ``@NFS_SERVER@`` the address of the storage server.

Each object of an add-on has a label with the add-on's name. The record is a ConfigMap, which a
backup of etcd brings back together with the objects.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from mgmt_drivers.cluster.addons import manifests
from mgmt_drivers.cluster.addons.addon_params import NAME, NFS_SERVER, Addon
from mgmt_drivers.cluster.addons.manifests import DEFINITION, Object
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.cluster_params import KubernetesParams
from mgmt_drivers.cluster.nodes import kubectl
from mgmt_drivers.errors import AddonFailed, CommandFailed
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.script import Script
from mgmt_drivers.package_yaml import BadYaml
from mgmt_drivers.ssh.session import LARGE_OUTPUT

LABEL = "tacker-mgmt-drivers/addon"
_RECORD, _NAMESPACE, _KEY = "tacker-mgmt-drivers-addons", "kube-system", "objects"
_POD_CIDR = "@POD_CIDR@"
_RENDER = Script(__package__, "render-chart")
_RENDER_LIMIT = 120.0  # seconds
# Kinds that belong to no namespace. The API passes over the namespace of another one.
_CLUSTER_WIDE = {
    "APIService", "CSIDriver", "ClusterRole", "ClusterRoleBinding", DEFINITION, "FlowSchema",
    "IngressClass", "MutatingWebhookConfiguration", "Namespace", "PersistentVolume",
    "PriorityClass", "PriorityLevelConfiguration", "RuntimeClass", "StorageClass",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
    "ValidatingWebhookConfiguration",
}  # fmt: skip


def of_pod_network(params: KubernetesParams) -> list[Object]:
    """The objects of the CNI manifest.

    If ``image_repository`` is given, the images of the package's own manifest come from there under
    their short names, as kubeadm's images do. Images of another manifest keep their references.
    """
    repository = params.image_repository if params.is_default_cni else None
    return manifests.from_repository(manifests.parse(_pod_network(params)), repository)


def _pod_network(params: KubernetesParams) -> str:
    return params.cni_manifest.read_text().replace(_POD_CIDR, str(params.pod_cidr))


def images(params: KubernetesParams, with_pod_network: bool) -> list[str]:
    """References of the images that nodes need before they are ready, or before a change.

    These are the images of the package's own CNI manifest, and those of the add-ons' manifests that
    come from ``image_repository``. Authors of other manifests decide with which login kubelet pulls
    their images.
    """
    is_listed = with_pod_network and params.is_default_cni
    texts = [_pod_network(params)] if is_listed else []
    if repository := params.image_repository:
        texts += [addon.manifest.read_text() for addon in params.addons if addon.manifest]
    found = [image for text in texts for image in manifests.images_in(text)]
    return sorted({*(map(repository.own_name, found) if repository else found)})


def render(host: Host, cluster: Cluster) -> Mapping[str, Sequence[Object]]:
    """The objects of the add-ons, by the add-on's name; charts are rendered on the machine.

    :raises MgmtDriverError: if a chart cannot be rendered, or two add-ons have one object
    """
    rendered = {addon.name: _render(host, cluster, addon) for addon in cluster.params.addons}
    names = Counter(manifests.describe(o) for objects in rendered.values() for o in objects)
    if twice := [name for name, number in names.items() if number > 1]:
        raise AddonFailed(f"{NAME}: these objects are there twice: {', '.join(twice)}")
    return rendered


def _render(host: Host, cluster: Cluster, addon: Addon) -> list[Object]:
    try:
        found = manifests.parse(_text(host, cluster, addon))
    except (BadYaml, CommandFailed) as error:
        raise AddonFailed(f"add-on {addon.name} cannot be rendered. {error}") from error
    objects = manifests.from_repository(found, cluster.params.image_repository)
    return [_placed(addon, thing) for thing in objects]


def _text(host: Host, cluster: Cluster, addon: Addon) -> str:
    source, params = addon.manifest or addon.values, cluster.params
    text = source.read_text().replace(_POD_CIDR, str(params.pod_cidr)) if source else ""
    if storage := cluster.topology.storage:
        exporting = [m.server_cp for m in storage.params.manifests] or [storage.params.ssh_cp_name]
        text = text.replace(NFS_SERVER, storage.node.address(exporting[0]))
    if not addon.chart:
        return text
    chart, values = addon.chart.read_bytes(), text.encode()
    sizes = (str(len(chart)), str(len(values)))
    words = _RENDER.command(addon.name, addon.namespace, f"{params.series.name}.0", *sizes)
    return host.run(*words, stdin=chart + values, timeout=_RENDER_LIMIT, limit=LARGE_OUTPUT)


def _placed(addon: Addon, thing: Object) -> Object:
    """The object with its label, and with a namespace if its kind has one."""
    default = {} if thing["kind"] in _CLUSTER_WIDE else {"namespace": addon.namespace}
    labels = {**(thing["metadata"].get("labels") or {}), LABEL: addon.name}
    return {**thing, "metadata": {**default, **thing["metadata"], "labels": labels}}


def identity(thing: Object) -> Object:
    """The part of an object that names it, for the record."""
    metadata = {k: v for k, v in thing["metadata"].items() if k in ("name", "namespace")}
    return {"apiVersion": thing["apiVersion"], "kind": thing["kind"], "metadata": metadata}


def read_record(host: Host) -> list[Object]:
    """Read which objects were applied.

    :raises BadYaml: if somebody has made the record unreadable
    """
    where = ("--namespace", _NAMESPACE, "--ignore-not-found")
    found = kubectl.get(host, "configmap", _RECORD, *where).get("data") or {}
    return manifests.parse(found.get(_KEY, ""))


def write_record(host: Host, objects: Sequence[Object]) -> None:
    metadata = {"name": _RECORD, "namespace": _NAMESPACE}
    record = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    text = manifests.text_of([{**record, "data": {_KEY: manifests.text_of(objects)}}])
    kubectl.merge(host, text, takes_over=True)


def remove(host: Host, thing: Object) -> None:
    """Delete an object of the record, unless the object in its place is no add-on's."""
    try:
        found = manifests.find(host, [thing])
    except CommandFailed as error:
        if "no matches for kind" not in error.tail:  # whose definition is gone
            raise
        return
    if any(LABEL in (item["metadata"].get("labels") or {}) for item in found):
        kubectl.delete_all(host, manifests.text_of([thing]))
