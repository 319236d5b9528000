"""Helm on a control-plane node: Tacker's v1 API runs Helm over SSH as the login user."""

import json
from collections.abc import Mapping

from mgmt_drivers.cluster.access.kubeconfig import by_token
from mgmt_drivers.cluster.access.service_account import VIM_ACCOUNT, Credentials
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.helm.helm_params import Helm
from mgmt_drivers.errors import AddonFailed, CommandFailed
from mgmt_drivers.machine import answers, files, packages
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.host import Host
from mgmt_drivers.machine.proxied import through_proxy
from mgmt_drivers.machine.script import Script
from mgmt_drivers.secret import Secret
from mgmt_drivers.ssh.session import LARGE_OUTPUT, LIST_OUTPUT

PACKAGE = "helm"
# Tacker's folder for charts in CNF packages, with a folder for each VNF instance of a CNF
# (tacker.vnfm.infra_drivers.kubernetes.kubernetes_driver, HELM_CHART_DIR_BASE).
_CHARTS = "/var/tacker/helm"
# Written by `helm repo add` in the user's home, where a session begins: the list of repositories,
# and their indexes, which Helm needs to find charts.
_REPOSITORIES = (".config/helm", ".cache/helm/repository")
# Cached charts beside the indexes, which may be many; Helm downloads them again.
_CACHED_CHARTS = "*.tgz"
_SCRIPT = f"{STATE_FOLDER}/install_helm.sh"
_LOCK = f"{STATE_FOLDER}/install.lock"
_INSTALL_LIMIT = 900.0  # seconds
_ANSWER_LIMIT = 60.0
_UNPACK = Script(__package__, "unpack-helm")
_WRITE_CONFIG = Script(__package__, "write-kubeconfig")
_PACK_FOLDER = Script(__package__, "pack-folder")
_UNPACK_FOLDER = Script(__package__, "unpack-folder")


def check_login(host: Host) -> None:
    """Check that the login user may run sudo without a password, as Tacker does for charts.

    :raises MgmtDriverError: if sudo asks for a password, which Tacker cannot enter
    """
    try:
        host.run("sudo", "-n", "--", "true")
    except CommandFailed as error:
        raise AddonFailed(
            "Tacker runs sudo without a password on control-plane nodes, for the charts of CNFs, "
            "and the user of master_node may not do so. Let the image allow it (NOPASSWD in "
            f"sudoers), or leave Helm out of the request. {error}"
        ) from error


def install(host: Host, source: Helm, has_proxy: bool) -> None:
    if source.archive:
        words = _UNPACK.command(source.archive.member, source.archive.sha256)
        host.sudo(*words, stdin=source.archive.path, timeout=_INSTALL_LIMIT)
    elif source.script:
        files.write(host, _SCRIPT, source.script.read_bytes(), "0755")
        _run_script(host, has_proxy)


def _run_script(host: Host, has_proxy: bool) -> None:
    words = ("flock", _LOCK, _SCRIPT)
    try:
        packages.run(host, *(through_proxy(words) if has_proxy else words))
    except CommandFailed as error:
        raise AddonFailed(
            f"the script that installs Helm failed, see helm_installation_script_path. {error}"
        ) from error


def configure(host: Host, cluster: Cluster, credentials: Credentials) -> bool:
    """Write the kubeconfig of the VIM's account for Helm; returns whether anything changed."""
    config = kubeconfig(cluster, credentials)
    words = _WRITE_CONFIG.command(str(len(config.reveal().encode())))
    return host.run(*words, stdin=config).strip() == "changed"


def kubeconfig(cluster: Cluster, credentials: Credentials) -> Secret:
    """The kubeconfig for kubectl and Helm, with the rights of the VIM."""
    config = by_token(
        cluster.endpoint, credentials.ca, credentials.token, VIM_ACCOUNT, "kubernetes"
    )
    return Secret(json.dumps(config, indent=2) + "\n")


def check_works(host: Host) -> None:
    """Check that the login user can run Helm on the cluster.

    :raises MgmtDriverError: with the output of Helm, or of a shell that does not find Helm
    """
    try:
        host.run("helm", "list", "--short", timeout=_ANSWER_LIMIT, limit=LIST_OUTPUT)
    except CommandFailed as error:
        raise AddonFailed(
            f"Helm does not work on the control-plane node for the user of master_node. {error}"
        ) from error


def pack(host: Host) -> Mapping[str, str]:
    """Pack Tacker's charts and repositories for CNFs; returns the archives by folder."""
    commands = {_CHARTS: _PACK_FOLDER.command(_CHARTS)}
    commands |= {name: _PACK_FOLDER.command(name, _CACHED_CHARTS) for name in _REPOSITORIES}
    archives = {
        name: host.run(*argv, timeout=_INSTALL_LIMIT, limit=LARGE_OUTPUT)
        for name, argv in commands.items()
    }
    return {folder: archive for folder, archive in archives.items() if archive}


def unpack(host: Host, folders: Mapping[str, str]) -> None:
    """Unpack the archives of :func:`pack` on another node."""
    user = answers.checked(host.run("id", "-u").strip(), answers.NUMBER, "the number of a user")
    files.give_folder(host, _CHARTS, user)
    for folder, content in folders.items():
        words = _UNPACK_FOLDER.command(folder, str(len(content)))
        host.run(*words, stdin=content, timeout=_INSTALL_LIMIT)
