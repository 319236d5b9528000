"""kubeadm on a machine: init, join, reset and upgrade.

Its configuration reaches kubeadm on its standard input, for it holds tokens.
"""

import dataclasses
import functools
import logging
import re
import secrets
import string
from collections.abc import Mapping, Sequence
from typing import Any

from mgmt_drivers import package_yaml
from mgmt_drivers.cluster import series
from mgmt_drivers.cluster.changed_params import merge
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.hardening import encryption, hardening
from mgmt_drivers.cluster.kubeadm import kubeadm_config, kubelet_serving, patches
from mgmt_drivers.cluster.kubeadm.kubeadm_config import JoinCredentials
from mgmt_drivers.cluster.nodes import kubectl, transient
from mgmt_drivers.cluster.registries.registries import KUBELET_LOGINS
from mgmt_drivers.errors import ClusterError, MachineUnfit, NotMade, text_of
from mgmt_drivers.machine import answers, facts, files
from mgmt_drivers.machine.files import STATE_FOLDER, File
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.proxied import without_proxy
from mgmt_drivers.machine.script import Script
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import LARGE_OUTPUT, LIST_OUTPUT

LOG = logging.getLogger(__name__)

_LIMIT = 600.0  # seconds for one init or join
# kubeadm itself gives each of four components five minutes to come up again.
_UPGRADE_LIMIT = 1500.0  # seconds
_RENEWAL_LIMIT = 300.0  # seconds
_TOKEN_LIMIT = 120.0  # seconds
# The lock of run-kubeadm: a kubeadm whose connection broke may still run.
_LOCK = f"{STATE_FOLDER}/kubeadm.lock"
_CONFIG_MAP = ("configmap", "kubeadm-config", "--namespace", "kube-system")
_CLUSTER = "ClusterConfiguration"  # key of the ConfigMap's data
_IMAGE_REPOSITORY = "imageRepository"
_KUBELET_CONFIG = "/var/lib/kubelet/config.yaml"
# The marker that earlier drivers wrote, which does not tell of which machine it is.
_OLD_MEMBER = "member"
_KUBELET_CERTIFICATE = "/var/lib/kubelet/pki/kubelet-client-current.pem"
# Errors of kubeadm's preflight that are ignored. The images were pulled before; only the image of
# an add-on may be missing.
_IMAGES_ARE_THERE = "ImagePull"
_CGROUP_V1_IS_MEANT = "SystemVerification"
_DATA_ARE_MEANT = "DirAvailable--var-lib-etcd"  # which were restored
# Where kubeadm asks for ephemeral storage for etcd: a kubelet that starts does not know yet how
# much it has, and then now and then refuses etcd for good (kubernetes/kubernetes#99305).
_PATCHES = f"{STATE_FOLDER}/kubeadm-patches"
_ETCD_PATCH = """\
spec:
  containers:
  - name: etcd
    resources:
      requests:
        ephemeral-storage: null
"""

# Where kubeadm keeps tokens and certificates for those who join.
_NAMESPACE = "kube-system"
_CERTIFICATES = "kubeadm-certs"
_TOKEN_SECRET = "bootstrap-token-"  # noqa: S105 - the beginning of a name
_TOKEN_NAME = re.compile(f"{_TOKEN_SECRET}[a-z0-9]{{6}}")

_RUN = Script(__package__, "run-kubeadm")
_NAMES_NODE = Script(__package__, "names-node")
_CREATE_TOKEN = Script(__package__, "create-token")
_ISSUE_API_CERTIFICATE = Script(__package__, "issue-api-certificate")
_VALIDATE = Script(__package__, "validate-config")
_WAKING = Script(__package__, "waking-kubelet")
_WOKEN = "tacker-mgmt-drivers/woken"  # annotation of mirror pods: when


def is_member(host: Host) -> bool:
    """Ask whether this machine has become part of its cluster."""
    try:
        notes = facts.gather(host).notes
    except NotMade:  # in a dry run
        return False
    if _OLD_MEMBER in notes and _member(host) not in notes:
        seen = host.ask(*_NAMES_NODE.command(_KUBELET_CERTIFICATE, host.node.short_id))
        if seen.status > 1:
            raise ClusterError(
                f"the machine is a node of an unknown cluster: {seen.tail}. Let "
                f"`openssl` read {_KUBELET_CERTIFICATE} on the machine, then retry"
            )
        return seen.ok
    return _member(host) in notes


def _member(host: Host) -> str:
    """The marker that is written when init or join has ended well.

    The marker names the server, since an image may be made from a node.
    """
    return f"{_OLD_MEMBER}-{host.node.server_id}"


def check_member(host: Host) -> None:
    """:raises MgmtDriverError: when this machine has not become part of its cluster"""
    if not is_member(host):
        raise ClusterError("the machine does not belong to the cluster")


def check_ready(host: Host) -> None:
    """:raises MgmtDriverError: if the machine's apiserver is not ready"""
    reason = kubectl.find_why_not_ready(host)
    if reason:
        raise ClusterError(f"the node's apiserver is not ready: {reason}")


def clear_member_marker(host: Host) -> None:
    """Let a machine that the cluster has lost join again."""
    if is_member(host):
        markers = (_member(host), _OLD_MEMBER)
        host.sudo("rm", "--force", *(f"{STATE_FOLDER}/{marker}" for marker in markers))
        facts.forget(host)


def is_partly_joined(host: Host) -> bool:
    """Whether an init or join has begun on this machine."""
    return host.ask("test", "-e", "/etc/kubernetes/kubelet.conf").ok


def reset(host: Host, cluster: Cluster) -> None:
    """Take back what kubeadm has done on this machine; one that still runs is waited for."""
    facts.forget(host)
    host.sudo(*_run_command(host, cluster, "reset"), timeout=_LIMIT, limit=LARGE_OUTPUT)


# Facts.
_VERSION, _IMAGES = "version of kubeadm", "images of kubeadm"
_CONFIGURATION = "configuration of the cluster"


def read_version(host: Host) -> str:
    """Ask for the installed release, such as v1.33.2; a fact until packages change."""

    def ask() -> str:
        shown = host.sudo("kubeadm", "version", "--output", "short").strip()
        return answers.checked(shown, answers.RELEASE, "a release of kubeadm")

    return host.once(_VERSION, ask)


def forget_version(host: Host) -> None:
    """Ask again for the release and its images: packages have changed."""
    host.forget(_VERSION, _IMAGES)


def list_images(host: Host, cluster: Cluster) -> list[str]:
    """Ask for the images that this release of Kubernetes is made of; a fact like the release."""
    words = ["kubeadm", "config", "images", "list", "--kubernetes-version", read_version(host)]
    if cluster.params.image_repository:
        words += ["--image-repository", cluster.params.image_repository.reference]

    def ask() -> list[str]:
        listed = host.sudo(*words).split()
        return [answers.checked(image, answers.IMAGE, "the name of an image") for image in listed]

    return host.once(_IMAGES, ask)


def init(
    host: Host,
    cluster: Cluster,
    *,
    with_dns: bool,
    validates: bool,
    sets_conntrack: bool,
    has_iptables: bool,
    before: Sequence[str] = (),
) -> None:
    """Make this machine the first control-plane node.

    :param validates: whether kubelet's fields of single nodes are refused if kubeadm does not know
        them; a cluster that is made anew had them before
    :param sets_conntrack: whether kube-proxy may set the limits of connections
    :param has_iptables: whether iptables works, which kube-proxy uses then
    :param before: a command that lays down etcd's data, and then runs the words behind its own
    """
    _prepare(host, cluster)
    keeps_cgroup_v1 = _keeps_cgroup_v1(host, cluster)
    words = ["kubeadm", "init", "--config", "/dev/stdin", *_patch_options(cluster)]
    words += _ignored(keeps_cgroup_v1, *([_DATA_ARE_MEANT] if before else []))
    if not with_dns:
        words += ["--skip-phases", "addon/coredns"]
    release, token = read_version(host), _make_token(host)
    proxy = kubeadm_config.kube_proxy(cluster, sets_conntrack, has_iptables)
    config = kubeadm_config.for_init(host, cluster, release, token, proxy, keeps_cgroup_v1)
    first = kubelet_serving.beginning(host, cluster)
    words = [*before, *encryption.encrypting(is_new=True), *first, *words]
    checked = kubeadm_config.for_validation(host, cluster, release)
    if checked and validates and cluster.params.series.validates:
        words = [*_VALIDATE.command(f"{len(checked)}"), *words]
        config = Secret("...\n".join(part.reveal() for part in (*checked, config)))
    _run(host, cluster, "init", words, config)


def create_join_credentials(
    host: Host, cluster: Cluster, joining: Sequence[Host]
) -> JoinCredentials:
    """Create a token on a control-plane node, and revoke what an operation that died has left.

    :param joining: the machines that join; for control-plane nodes among them, the control plane's
        certificates are uploaded as well
    """
    for_control_plane = bool(cluster.masters(joining))
    certificate_key = Secret(secrets.token_hex(32)) if for_control_plane else None
    if certificate_key:
        host.session.hide(certificate_key)
    keys = encryption.read_file(host) if for_control_plane else None
    credentials = JoinCredentials(_make_token(host), certificate_key, encryption=keys)
    config = kubeadm_config.for_credentials(host, cluster, read_version(host), credentials)
    upload = ("kubeadm", "init", "phase", "upload-certs", "--upload-certs")
    words = without_proxy((*upload, "--config", "/dev/stdin"))
    try:
        with transient.explained():
            issuing = kubelet_serving.issuing(cluster, joining)
            command = _CREATE_TOKEN.command(kubeadm_config.DESCRIPTION, *issuing)
            shown = host.sudo(
                *without_proxy(command), stdin=config, timeout=_TOKEN_LIMIT, limit=LIST_OUTPUT
            )
        ca, _, issued = shown.partition("\n---\n")
        serving = kubelet_serving.read_issued(host, issued, cluster, joining)
        if for_control_plane:
            transient.retry(host.clock, functools.partial(host.sudo, *words, stdin=config))
    except BaseException:  # it may have been done all the same
        revoke(host, credentials)
        raise
    return dataclasses.replace(credentials, ca=ca, serving=serving)


def join(host: Host, cluster: Cluster, credentials: JoinCredentials) -> None:
    """Join a machine to the cluster, a control-plane node as part of the control plane."""
    words = [*kubelet_serving.installing("kubeadm", "join", "--config", "/dev/stdin")]
    words += _ignored(_keeps_cgroup_v1(host, cluster))
    _prepare(host, cluster)
    if cluster.is_control_plane(host):
        words += _patch_options(cluster)
        if credentials.encryption:
            words = [*encryption.encrypting(is_new=False), *words]
    config = kubeadm_config.for_join(host, cluster, credentials)
    _run(host, cluster, "join", words, config)


def revoke(host: Host, credentials: JoinCredentials) -> None:
    """Make join credentials worthless.

    Deletes the Secrets of the join token, of the uploaded certificates, and of the token with
    which kubeadm limits their life; what is gone already is fine. A failure is only logged, with
    what may be left: that expires within two hours, and a failure to join must not be hidden.
    """
    # The part of the token before the point is no secret.
    names = [f"{_TOKEN_SECRET}{credentials.token.reveal().partition('.')[0]}"]
    if credentials.certificate_key:
        names += [_CERTIFICATES, *_find_owners_of_certificates(host)]
    try:
        kubectl.delete(host, "secret", *names, namespace=_NAMESPACE)
    except Exception as error:  # noqa: BLE001 - whatever it is, joins have ended as they have
        LOG.warning(
            "join credentials are not revoked: %s. What is left of them expires within two hours, "
            "or run on a control-plane node: kubectl --kubeconfig /etc/kubernetes/admin.conf "
            "--namespace %s delete secret %s", text_of(error), _NAMESPACE, " ".join(names),
        )


def _find_owners_of_certificates(host: Host) -> list[str]:
    """Find the Secrets with whose end Kubernetes deletes the uploaded certificates."""
    words = ("secret", _CERTIFICATES, "--namespace", _NAMESPACE, "--ignore-not-found")
    try:
        owners = kubectl.get(host, *words).get("metadata", {}).get("ownerReferences", ())
        return [answers.checked(owner["name"], _TOKEN_NAME, "a token's name") for owner in owners]
    except Exception as error:  # noqa: BLE001 - the certificates must go all the same
        # Not its words: they may quote what the machine said, which nobody has masked.
        kind = type(error).__name__
        LOG.warning("the token of the uploaded certificates is not known (%s)", kind)
        return []


def read_cluster_release(host: Host) -> str:
    """Read the release to which the cluster was initialized or upgraded, such as v1.33.2."""
    release = _read_cluster_part(host).get("kubernetesVersion")
    return answers.checked(release, answers.RELEASE, "a release of Kubernetes")


def read_image_repository(host: Host) -> str:
    """Read the repository of the cluster's images, as kubeadm keeps it."""
    return str(_read_cluster_part(host).get(_IMAGE_REPOSITORY, ""))


def set_image_repository(host: Host, reference: str) -> None:
    """Let kubeadm take the images from another repository from now on."""
    _change_cluster_part(host, {_IMAGE_REPOSITORY: reference})


def issue_api_certificate(host: Host, cluster: Cluster) -> None:
    """Issue a certificate with other names for the apiservers of this node and of later nodes."""
    names = kubeadm_config.api_names(cluster)
    _change_cluster_part(cluster.leader, {"apiServer": {"certSANs": names}})
    config = kubeadm_config.for_certificate(host, cluster, read_version(host))
    command = ("flock", _LOCK, *_ISSUE_API_CERTIFICATE.command())
    host.sudo(*without_proxy(command), stdin=config, timeout=_RENEWAL_LIMIT)


def upgrade_cluster(host: Host, cluster: Cluster, release: str) -> None:
    """Upgrade the control plane of the first node, and what the cluster keeps of its version.

    Apiservers of a cluster of earlier drivers get the arguments that new clusters have: those that
    the cluster's series knows, since the upgrade may fail, and a node join.
    """
    current = series.read_version(read_cluster_release(host))
    known = (_read_cluster_part(host).get("apiServer") or {}).get("extraArgs")
    wanted = kubeadm_config.add_api_arguments(known, current.series) if current else known
    if wanted != known:
        _change_cluster_part(host, {"apiServer": {"extraArgs": wanted}})
    host.forget(_CONFIGURATION)
    _upgrade(host, cluster, "apply", release, "--yes")


def upgrade_node(host: Host, cluster: Cluster) -> None:
    _upgrade(host, cluster, "node")


def renew_certificates(host: Host) -> None:
    command = ("flock", _LOCK, "kubeadm", "certs", "renew", "all")
    host.sudo(*without_proxy(command), timeout=_RENEWAL_LIMIT)


def check_kubelet_starts(host: Host, cluster: Cluster) -> None:
    """:raises MgmtDriverError: when the series' kubelet would not start on the machine

    A cluster of an earlier series has not told its kubelets that they may run on cgroup v1.
    """
    if not _keeps_cgroup_v1(host, cluster):
        return
    if "failCgroupV1: false" not in files.read(host, _KUBELET_CONFIG):
        raise MachineUnfit(
            f"the machine has cgroup v1, on which kubelet {cluster.params.series.name} does not "
            "start. Keep the version, or instantiate a VNF of an image that has cgroup v2"
        )


def _change_cluster_part(host: Host, patch: Mapping[str, Any]) -> None:
    host.forget(_CONFIGURATION)  # nobody else's change is to be lost
    text = package_yaml.dump(merge(_read_cluster_part(host), patch))
    kubectl.patch(host, *_CONFIG_MAP, patch={"data": {_CLUSTER: text}})
    host.forget(_CONFIGURATION)


def _read_cluster_part(host: Host) -> dict[str, Any]:
    """Read the cluster's ClusterConfiguration; a fact until this operation changes it."""

    def ask() -> dict[str, Any]:
        try:
            found = package_yaml.load(kubectl.get(host, *_CONFIG_MAP)["data"][_CLUSTER])
        except package_yaml.BadYaml:
            found = None
        if not isinstance(found, dict):
            text = "the cluster's ConfigMap kubeadm-config has no ClusterConfiguration"
            raise ClusterError(text)
        return found

    return host.once(_CONFIGURATION, ask)


def _upgrade(host: Host, cluster: Cluster, *words: str) -> None:
    _prepare(host, cluster)
    options = [*_patch_options(cluster), *_ignored(_keeps_cgroup_v1(host, cluster))]
    if folder := patches.folder(host, cluster):
        options += ["--patches", folder]
    command = ("flock", _LOCK, "kubeadm", "upgrade", *words, *options)
    if cluster.is_control_plane(host):
        command = _WAKING.command(kubectl.ADMIN, cluster.name(host), _WOKEN, *command)
    host.sudo(*without_proxy(command), timeout=_UPGRADE_LIMIT, limit=LARGE_OUTPUT)


def _prepare(host: Host, cluster: Cluster) -> None:
    """Give a machine what kubeadm and the programs which it starts need there."""
    hardening.set_kernel_defaults(host, cluster.params)
    wanted = []
    if cluster.is_control_plane(host):
        wanted += [hardening.LOG_FOLDER, *hardening.control_plane_files(cluster.params)]
        if cluster.params.series.reserves_etcd_storage:
            wanted.append(File(f"{_PATCHES}/etcd+strategic.yaml", _ETCD_PATCH))
    files.write_all(host, [*wanted, *patches.files(host, cluster)])


def _patch_options(cluster: Cluster) -> list[str]:
    if not cluster.params.series.reserves_etcd_storage:
        return []
    return ["--experimental-patches", _PATCHES]  # the option's name in those series


def _run(
    host: Host, cluster: Cluster, verb: str, words: Sequence[str], config: Secret
) -> None:
    facts.forget(host)
    command = _run_command(host, cluster, verb, *hardening.RESTRICT.command(), *words)
    host.sudo(*command, stdin=config, timeout=_LIMIT, limit=LARGE_OUTPUT)


def _run_command(host: Host, cluster: Cluster, *words: str) -> tuple[str, ...]:
    marker = f"{STATE_FOLDER}/{_member(host)}"
    command = _RUN.command(kubeadm_config.socket(cluster), marker, KUBELET_LOGINS, *words)
    return without_proxy(command)


def _make_token(host: Host) -> Secret:
    alphabet = string.ascii_lowercase + string.digits
    letters = "".join(secrets.choice(alphabet) for _ in range(22))
    host.session.hide(Secret(letters[6:]))  # the part before is its name, which all may see
    return Secret(f"{letters[:6]}.{letters[6:]}")


def _keeps_cgroup_v1(host: Host, cluster: Cluster) -> bool:
    """Whether kubelet has to be told that it may run on this machine's cgroup v1."""
    if not cluster.params.series.refuses_cgroup_v1 or facts.gather(host).has_cgroup_v2:
        return False
    LOG.warning("%s has cgroup v1, which Kubernetes will cease to support", host.node)
    return True


def _ignored(keeps_cgroup_v1: bool, *more: str) -> list[str]:
    errors = [_IMAGES_ARE_THERE, *([_CGROUP_V1_IS_MEANT] if keeps_cgroup_v1 else []), *more]
    return ["--ignore-preflight-errors", ",".join(errors)]
