"""The parameter ``proxy``: how machines reach other networks."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from mgmt_drivers import grammar
from mgmt_drivers.params.declaration import ObjectOf, param
from mgmt_drivers.params.kinds import Network, TextKind, Url
from mgmt_drivers.params.reader import Reader
from mgmt_drivers.secret import Secret


class _DirectHosts(TextKind[tuple[str, ...]]):
    words = "hosts, domains and networks, separated by commas"
    fallback = absent = ()

    def take(self, text: str, reader: Reader) -> tuple[str, ...]:
        listed = tuple(word.strip() for word in text.split(",") if word.strip())
        for word in listed:
            if not grammar.is_direct(word):
                reader.refuse(f"{word!r} is neither a host, a domain nor a network")
        return listed


class _NodeNetwork(TextKind[str | None]):
    """A network in the notation of the request.

    Go's and curl's clients understand networks; a list of all addresses of a /16 would be too long
    for a unit file.
    """

    words, pattern = Network.words, Network.pattern

    def take(self, text: str, reader: Reader) -> str | None:
        errors = len(reader.errors.messages)
        Network().take(text, reader)
        return text if len(reader.errors.messages) == errors else None


@dataclass(frozen=True)
class Proxy:
    """Proxies for apt and the container runtime; ``no_proxy`` lists hosts to reach directly.

    ``node_cidr`` is the network of a cluster's nodes in the notation of the request, and a part of
    ``no_proxy``.
    """

    http: Secret | None = param(
        "http_proxy", Url(), example="http://proxy.example.com:3128", meaning="for URLs with http",
    )
    https: Secret | None = param(
        "https_proxy", Url(), example="http://proxy.example.com:3128",
        meaning="for URLs with https",
    )
    no_proxy: tuple[str, ...] = param(
        "no_proxy", _DirectHosts(), example="registry.example.com,.lab.test,10.20.0.0/16",
        meaning="what machines reach directly",
    )
    node_cidr: str | None = None

    def secrets(self) -> Iterator[Secret]:
        """The URLs, and the passwords in them, percent-encoded and decoded."""
        for url in filter(None, (self.http, self.https)):
            yield url
            password = urlsplit(url.reveal()).password or ""
            yield from (Secret(password), Secret(unquote(password)))

    def way_to(self, scheme: str, host: str) -> Secret | None:
        """The proxy by which programs written in Go, such as the runtimes, reach a host."""
        direct = any(_matches(word, host) for word in self.no_proxy)
        return None if direct else (self.http if scheme == "http" else self.https)


@dataclass(frozen=True)
class ClusterProxy(Proxy):
    """The proxy of a cluster, whose nodes reach each other directly."""

    node_cidr: str | None = param(
        "k8s_node_cidr", _NodeNetwork(), example="10.10.0.0/24",
        meaning="network of the nodes, which are reached directly, too",
    )


_Given = TypeVar("_Given", bound=Proxy)


def _used(proxy: _Given, reader: Reader) -> _Given | None:
    """The proxy, or None if neither URL is given, whatever the other keys say."""
    if proxy.node_cidr:
        proxy = replace(proxy, no_proxy=(*proxy.no_proxy, proxy.node_cidr))
    return proxy if proxy.http or proxy.https else None


# Empty strings count as left out.
PROXY = ObjectOf(Proxy, _used, takes_blanks=True)
CLUSTER_PROXY = ObjectOf(ClusterProxy, _used, takes_blanks=True)


def _matches(word: str, host: str) -> bool:
    """Whether a word of no_proxy means the host (Go's package httpproxy, "Config")."""
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(word, strict=False)
    except ValueError:
        name = host.lower()
        domain = word.lower().removeprefix("*")
        return word == "*" or name == domain or name.endswith("." + domain.lstrip("."))
