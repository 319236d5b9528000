"""What is to become of a request, as its parameters say it; and how a file is held against that."""

import posixpath
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tools.fuzz import syntaxes
from tools.fuzz.syntaxes import Pairs, Parse

STATE = "/var/lib/tacker-mgmt-drivers"
_ENVIRONMENT = f"{STATE}/proxy.env"


class Finding(Exception):
    """Something that no request may bring about."""


Check = Callable[[str], None]  # of a file's text; raises Finding or Malformed


@dataclass
class Meaning:
    """Of one request.

    ``files`` are those of machines by role, ``words`` may stand in commands besides those of any
    request, ``inputs`` are what programs have to be fed, by the program's name. ``optional`` are
    files that a machine need not have.
    """

    files: dict[tuple[str, str], Check] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)
    inputs: dict[str, Check] = field(default_factory=dict)
    optional: set[tuple[str, str]] = field(default_factory=set)

    def add_file(self, roles: Collection[str], path: str, check: Check) -> None:
        self.words |= {path, posixpath.dirname(path)}
        for role in roles:
            self.files[role, path] = check


def same(parse: Parse, value: Any) -> Check:
    """A check that a text means this value, and no more."""

    def check(text: str) -> None:
        found = parse(text)
        if found != value:
            raise Finding(f"it means {found!r}, where the parameters say {value!r}")

    return check


def either(first: Check, second: Check) -> Check:
    """A check that a text passes one of two."""

    def check(text: str) -> None:
        try:
            first(text)
        except (Finding, syntaxes.Malformed):
            second(text)

    return check


def text_of(content: bytes) -> str:
    """The text of a file that may not be text."""
    return content.decode(errors="surrogateescape")


@dataclass(frozen=True)
class ProxyMeaning:
    """Of the parameter ``proxy``; ``inside`` may be reached directly besides what it names."""

    values: Mapping[str, Any]
    services: Collection[str]
    inside: Collection[str] = ()

    def add_to(self, meaning: Meaning, roles: Collection[str]) -> None:
        unit = {"[Service]": [("EnvironmentFile", _ENVIRONMENT)]}
        meaning.add_file(roles, _ENVIRONMENT, self._check_environment)
        meaning.add_file(roles, "/etc/apt/apt.conf.d/95-mgmt-driver-proxy", self._check_apt)
        for service in self.services:
            path = f"/etc/systemd/system/{service}.service.d/mgmt-driver-proxy.conf"
            meaning.add_file(roles, path, same(syntaxes.unit, unit))

    @property
    def urls(self) -> Pairs:
        """Of both schemes, as far as they are given."""
        schemes = ("http", "https")
        return [(s, self.values[f"{s}_proxy"]) for s in schemes if self.values.get(f"{s}_proxy")]

    @property
    def direct(self) -> set[str]:
        words = {word.strip() for word in (self.values.get("no_proxy") or "").split(",")}
        return (words | {self.values.get("k8s_node_cidr") or ""}) - {""}

    def _check_environment(self, text: str) -> None:
        found = syntaxes.variables(text)
        urls = [(f"{scheme.upper()}_PROXY", url) for scheme, url in self.urls]
        rest = [pair for pair in found if pair not in urls]
        listed = rest[0][1].split(",") if rest else []
        is_known = self.direct <= {*listed} <= self.direct | {*self.inside}
        if found != urls + rest or [name for name, _ in rest] not in ([], ["NO_PROXY"]):
            raise Finding(f"it has {found}, where the parameters say {urls}")
        if not is_known:
            raise Finding(f"NO_PROXY has {listed}, where the parameters say {self.direct}")

    def _check_apt(self, text: str) -> None:
        found = syntaxes.apt_options(text)
        names = {f"Acquire::{scheme}::Proxy": url for scheme, url in self.urls}
        direct = self.direct | {*self.inside}
        for name, value in found:
            option, _, host = name.rpartition("::")
            is_direct = option in names and host in direct and value == "DIRECT"
            if names.get(name) != value and not is_direct:
                raise Finding(f"it has {name} {value!r}, which the parameters do not say")
        if not set(names.items()) <= set(found):
            raise Finding(f"it has {found}, where the parameters say {names}")


def host_of(url: str) -> str:
    return urlsplit(url).hostname or ""



