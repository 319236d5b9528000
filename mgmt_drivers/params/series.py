"""What is known of each series of Kubernetes, a table of facts; and versions in it."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Series:
    """One minor release.

    ``kubeadm_api`` is the version of kubeadm's configuration that it reads and
    that the series after it still read (kubeadm's API reference). ``dockershim``
    tells whether its kubelet drives Docker itself. From 1.24 on, sockets of
    container runtimes are given as URLs.
    """

    name: str
    kubeadm_api: str
    dockershim: bool

    @property
    def socket_scheme(self) -> str:
        return "" if self.dockershim else "unix://"


def _series(first: int, last: int, kubeadm_api: str) -> dict[str, Series]:
    last_with_dockershim = 23
    names = {minor: f"1.{minor}" for minor in range(first, last + 1)}
    return {
        name: Series(name, kubeadm_api, minor <= last_with_dockershim)
        for minor, name in names.items()
    }


SUPPORTED: dict[str, Series] = {
    **_series(20, 21, "v1beta2"),
    **_series(22, 30, "v1beta3"),
    **_series(31, 34, "v1beta4"),
}

@dataclass(frozen=True)
class Version:
    """A release such as 1.33.2, or a series such as 1.33: the newest release of that."""

    text: str
    series: Series

    def __str__(self) -> str:
        return self.text


_VERSION = re.compile(r"v?(?P<release>(?P<series>[0-9]+\.[0-9]+)(\.[0-9]{1,3})?)")


def read_version(text: str) -> Version | None:
    """The version that 1.33, 1.33.2 or v1.33.2 means; None if its series is not supported."""
    match = _VERSION.fullmatch(text)
    series = SUPPORTED.get(match["series"]) if match else None
    return Version(match["release"], series) if match and series else None


DEFAULT_VERSION = Version("1.33", SUPPORTED["1.33"])
