"""The parameter ``proxy``: how machines reach the world outside."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from mgmt_drivers import grammar
from mgmt_drivers.params.reader import Reader
from mgmt_drivers.secret import Secret


@dataclass(frozen=True)
class Proxy:
    """Proxies for apt and the container runtime; ``no_proxy`` lists what goes direct.

    ``node_cidr`` is the network of a cluster's nodes as the request writes it; it
    is part of ``no_proxy``.
    """

    http: Secret | None = None
    https: Secret | None = None
    no_proxy: tuple[str, ...] = ()
    node_cidr: str | None = None

    def secrets(self) -> Iterator[Secret]:
        """The URLs, and the passwords in them as they are and as they are written there."""
        for url in filter(None, (self.http, self.https)):
            yield url
            password = urlsplit(url.reveal()).password or ""
            yield from (Secret(password), Secret(unquote(password)))

    def way_to(self, scheme: str, host: str) -> Secret | None:
        """The proxy by which programs written in Go, as the runtimes are, reach a host."""
        direct = any(_matches(word, host) for word in self.no_proxy)
        return None if direct else (self.http if scheme == "http" else self.https)


def read_proxy(reader: Reader | None, of_cluster: bool = False) -> Proxy | None:
    """Read ``http_proxy``, ``https_proxy`` and ``no_proxy`` (separated by commas).

    Empty strings stand for what is left out. With neither proxy there is none, whatever the
    other keys say.

    :param of_cluster: ``k8s_node_cidr`` may be given as well
    """
    if reader is None:
        return None
    reader.leave_out_blanks()
    listed = (reader.optional_text("no_proxy") or "").split(",")
    no_proxy = tuple(word.strip() for word in listed if word.strip())
    for word in no_proxy:
        if not grammar.is_direct(word):
            reader.error("no_proxy", f"{word!r} is neither a host, a domain nor a network")
    node_cidr = _read_node_cidr(reader) if of_cluster else None
    if node_cidr:
        # The notation is kept: Go's and curl's clients know networks, and a list
        # of all addresses of a /16 would be too long for a unit file.
        no_proxy += (node_cidr,)
    proxy = Proxy(reader.url("http_proxy"), reader.url("https_proxy"), no_proxy, node_cidr)
    reader.end()
    return proxy if proxy.http or proxy.https else None


def _matches(word: str, host: str) -> bool:
    """Whether a word of no_proxy means the host (Go's package httpproxy, "Config")."""
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(word, strict=False)
    except ValueError:
        name = host.lower()
        domain = word.lower().removeprefix("*")
        return word == "*" or name == domain or name.endswith("." + domain.lstrip("."))


def _read_node_cidr(reader: Reader) -> str | None:
    given = reader.optional_text("k8s_node_cidr")
    errors = len(reader.errors.found)
    if given:
        reader.network("k8s_node_cidr", given)
    return given if len(reader.errors.found) == errors else None
