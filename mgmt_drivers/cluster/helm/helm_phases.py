"""Helm on control-plane nodes, for CNFs that Tacker deploys by charts."""

import functools
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mgmt_drivers.cluster.access import service_account
from mgmt_drivers.cluster.access.service_account import Credentials
from mgmt_drivers.cluster.cluster import Cluster
from mgmt_drivers.cluster.helm import helm
from mgmt_drivers.engine.phase import DEPENDS, Ask, Change, Phase, Prediction, Step
from mgmt_drivers.engine.trace import CHANGED, UNCHANGED, Outcome
from mgmt_drivers.machine import files
from mgmt_drivers.machine.files import STATE_FOLDER
from mgmt_drivers.machine.host import Host

_DONE = f"{STATE_FOLDER}/helm"  # the digest of the installed archive, or of the script


class InstallHelm(Change[Cluster, str]):
    """Install Helm from the VNF package; a repository's package comes with other packages."""

    title = "install Helm"

    def look(self, host: Host, cluster: Cluster) -> str | None:
        digest = _digest(cluster)
        return None if files.has(host, _DONE, digest) else digest

    def act(self, host: Host, cluster: Cluster, digest: str) -> None:
        source = cluster.params.helm
        assert source
        helm.install(host, source, has_proxy=cluster.proxy is not None)
        files.write(host, _DONE, digest)


def _digest(cluster: Cluster) -> str:
    source = cluster.params.helm
    if source and source.archive:
        return source.archive.sha256 + "\n"
    script = source.script.read_bytes() if source and source.script else b""
    return hashlib.sha256(script).hexdigest() + "\n"


class ConfigureHelm(Phase[Cluster]):
    """Let Helm use the cluster with the rights of the VIM, and check that Helm works."""

    title = "give Helm access"
    prediction = Prediction(DEPENDS, "on whether Helm has the credentials of the VIM")

    @contextmanager
    def around(self, cluster: Cluster, ask: Ask) -> Iterator[Step[Cluster]]:
        read = functools.partial(service_account.read_vim, store=cluster.store)
        yield functools.partial(_configure, credentials=ask(cluster.leader, read))


def _configure(host: Host, cluster: Cluster, credentials: Credentials) -> Outcome:
    changed = helm.configure(host, cluster, credentials)
    helm.check_works(host)
    return CHANGED if changed else UNCHANGED


class CopyCharts(Phase[Cluster]):
    """Copy Tacker's charts and repositories for CNFs from the leader to new control-plane nodes.

    Tacker scales a CNF with the chart on the first control-plane node, which may be a new one.
    """

    title = "copy Helm's charts"
    prediction = Prediction(DEPENDS, "on whether there are charts")

    @contextmanager
    def around(self, cluster: Cluster, ask: Ask) -> Iterator[Step[Cluster]]:
        yield functools.partial(_copy, folders=ask(cluster.leader, helm.pack))


def _copy(host: Host, cluster: Cluster, folders: Mapping[str, str]) -> Outcome:
    if folders:
        helm.unpack(host, folders)
    return CHANGED if folders else UNCHANGED
