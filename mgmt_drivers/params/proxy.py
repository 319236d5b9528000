"""The parameter ``proxy``: how machines reach the world outside."""

from dataclasses import dataclass

from mgmt_drivers.params.reader import Reader, network_or_name
from mgmt_drivers.secret import Secret


@dataclass(frozen=True)
class Proxy:
    """Proxies for apt and the container runtime; ``no_proxy`` lists what goes direct."""

    http: Secret | None = None
    https: Secret | None = None
    no_proxy: tuple[str, ...] = ()


def read_proxy(reader: Reader | None) -> Proxy | None:
    """Read ``http_proxy``, ``https_proxy`` and ``no_proxy`` (separated by commas)."""
    if reader is None:
        return None
    listed = (reader.optional_text("no_proxy") or "").split(",")
    no_proxy = tuple(word.strip() for word in listed if word.strip())
    for word in no_proxy:
        if not network_or_name(word):
            reader.fault("no_proxy", f"{word!r} is neither a host, a domain nor a network")
    proxy = Proxy(reader.url("http_proxy"), reader.url("https_proxy"), no_proxy)
    if proxy.http is None and proxy.https is None and reader.usable:
        reader.faults.add(reader.path, "needs http_proxy or https_proxy")
    reader.end()
    return proxy
