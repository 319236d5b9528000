"""The table of facts about each series of Kubernetes, and versions in a series."""

import re
from dataclasses import dataclass

from mgmt_drivers.params.kinds import TextKind
from mgmt_drivers.params.reader import Reader


@dataclass(frozen=True)
class Series:
    """A minor release of Kubernetes.

    ``kubeadm_api`` is the version of kubeadm's configuration that the series reads and that the
    series after it still reads (kubeadm's API reference). :data:`_FIRST` and :data:`_LAST` explain
    the rest.
    """

    name: str
    kubeadm_api: str
    takes_patches: bool
    has_v1beta4: bool
    dockershim: bool
    has_learners: bool
    refuses_cgroup_v1: bool
    has_nftables: bool
    reserves_etcd_storage: bool
    patches_kubelet: bool
    validates: bool
    ends_quickly: bool

    @property
    def minor(self) -> int:
        return int(self.name.partition(".")[2])

    @property
    def socket_scheme(self) -> str:
        """Since kubelet drives no Docker, sockets of container runtimes are given as URLs."""
        return "" if self.dockershim else "unix://"


# Versions of kubeadm's configuration by the first minor release that gets them.
_KUBEADM_APIS = {20: "v1beta2", 22: "v1beta3", 31: "v1beta4"}
# The minor releases with which features came.
_FIRST = {
    "takes_patches": 22,  # kubeadm's configuration names a folder of patches
    "ends_quickly": 23,  # the apiserver takes --shutdown-send-retry-after
    "patches_kubelet": 25,  # kubeadm patches kubelet's configuration ("Customizing with patches")
    "validates": 26,  # there is ``kubeadm config validate``
    "has_learners": 29,  # members of etcd get a vote when they have caught up (EtcdLearnerMode)
    "has_v1beta4": 31,  # of kubeadm: timeouts, certificates' validity, arguments as a list
    "has_nftables": 33,  # the mode nftables of kube-proxy is stable (KEP-3866)
    "refuses_cgroup_v1": 35,  # kubelet starts on cgroup v1 only when told to (KEP-5573)
}
# The last minor releases that had others.
_LAST = {
    "reserves_etcd_storage": 21,  # kubeadm asks for ephemeral storage for etcd
    "dockershim": 23,  # kubelet drives Docker itself
}


def _series(minor: int) -> Series:
    *_, kubeadm_api = (api for first, api in _KUBEADM_APIS.items() if minor >= first)
    has = {name: minor >= number for name, number in _FIRST.items()}
    has |= {name: minor <= number for name, number in _LAST.items()}
    return Series(f"1.{minor}", kubeadm_api, **has)


SUPPORTED = {f"1.{minor}": _series(minor) for minor in range(20, 37 + 1)}


@dataclass(frozen=True)
class Version:
    """A release such as 1.33.2, or a series such as 1.33: the newest release of that."""

    text: str
    series: Series

    @property
    def patch(self) -> int | None:
        """The number of a release in its series; None for a series."""
        _, _, number = self.text.removeprefix(self.series.name).partition(".")
        return int(number) if number else None

    def is_release(self, release: str) -> bool | None:
        """Whether a release such as v1.33.2 is this version.

        None for a release of this series, if the version names no release: only the package
        repository knows the newest one.
        """
        found = read_version(release)
        if found is None or found.series != self.series:
            return False
        return None if self.patch is None else found.patch == self.patch

    def __str__(self) -> str:
        return self.text


_VERSION = re.compile(r"v?(?P<release>(?P<series>[0-9]+\.[0-9]+)(\.[0-9]{1,3})?)")


def read_version(text: str) -> Version | None:
    """The version that 1.33, 1.33.2 or v1.33.2 means; None if its series is not supported."""
    match = _VERSION.fullmatch(text)
    series = SUPPORTED.get(match["series"]) if match else None
    return Version(match["release"], series) if match and series else None


def skew(current: Version, target: Version) -> str:
    """Why a cluster cannot go from one version to the other in one step; empty if it can.

    kubeadm upgrades by one minor version (its documentation, "Upgrading kubeadm clusters").
    """
    step = target.series.minor - current.series.minor
    # A series asks for its newest release, whatever that is.
    newest = current.patch or 0
    patch = newest if target.patch is None else target.patch
    if step < 0 or (step == 0 and patch < newest):
        return f"{target} is older than {current}, and Kubernetes cannot be downgraded"
    if step > 1:
        return f"from {current} to {target} is more than one minor version"
    return ""


def steps(current: Version, target: Version) -> list[Version]:
    """The versions by which a cluster goes to another version; the target alone if it is near."""
    between = range(current.series.minor + 1, target.series.minor)
    return [*(Version(f"1.{minor}", SUPPORTED[f"1.{minor}"]) for minor in between), target]


DEFAULT_VERSION = Version("1.37", SUPPORTED["1.37"])


class VersionKind(TextKind[Version]):
    words = "a series such as ``1.37``, or a release such as ``1.37.2``"
    fallback = DEFAULT_VERSION
    pattern = r"^v?[0-9]+\.[0-9]+(\.[0-9]{1,3})?$"

    def take(self, text: str, reader: Reader) -> Version:
        version = read_version(text)
        if version is None:
            names = list(SUPPORTED)
            reader.refuse(
                f"must be a series or a release, such as {DEFAULT_VERSION} or "
                f"{DEFAULT_VERSION}.1, from {names[0]} to {names[-1]}"
            )
        return version or DEFAULT_VERSION
