"""The grammar of untrusted words: addresses, names, networks and URLs, in ASCII only.

Readers of parameters and of machines' answers use this module. The parsers of libraries accept more
than is safe in files and commands: :mod:`ipaddress` accepts any characters as the scope of an IPv6
address (RFC 4007), ``\\d`` and ``isalnum`` accept the digits and letters of all scripts.
"""

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# The characters that are special to a shell between double quotes, and no others: systemd keeps a
# backslash before any other character (systemd.exec, "EnvironmentFile").
IN_QUOTES = str.maketrans({character: f"\\{character}" for character in '"\\`$'})
# Shortest prefixes of networks in no_proxy: those of the largest private networks (RFC 1918, 4193).
_SHORTEST_PREFIX = {4: 8, 6: 7}
# The blocks "this network", loopback, link-local (used by metadata services), multicast and
# reserved.
_SPECIAL = tuple(map(ipaddress.IPv4Network, (
    "0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
)))
# Special blocks that no machine uses. Link-local is not among them: the metadata service has
# such an address.
_UNUSED = tuple(block for block in _SPECIAL if not block.is_link_local)
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_LONGEST_NAME = 253
# Kubernetes' documentation, "Labels and Selectors".
_QUALIFIED = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
_ADDRESS = re.compile(r"[0-9A-Fa-f:.]{2,45}")
_COMPONENT = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_PATH = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST_REFERENCE = 512
_PREFIX = re.compile(r"[0-9]{1,3}")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LAST_PORT = 65535
# All characters of RFC 3986 except the apostrophe; others must be percent-encoded.
_URL = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&()*+,;=-]|%[0-9A-Fa-f]{2})+")
# Host and port of a URL's authority, after the last @.
_AUTHORITY = re.compile(r"(?:\[(?P<v6>[^\[\]]*)\]|(?P<host>[^:\[\]]*))(?::(?P<port>[0-9]*))?")
# Names of Windows hosts, which may be in no_proxy, can have underscores.
_WORD = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_DIRECT = re.compile(rf"(?:\*?\.)?{_WORD}(?:\.{_WORD})*")


def address(text: str) -> Address | None:
    """Parse an IPv4 or IPv6 address without a scope; None for any other text."""
    try:
        return ipaddress.ip_address(text) if _ADDRESS.fullmatch(text) else None
    except ValueError:
        return None


def network(text: str) -> Network | None:
    """Parse a network as ADDRESS/PREFIX, its host bits dropped; None for any other text.

    The prefix is a number of bits: :mod:`ipaddress` would accept a netmask, but the programs that
    get the original text would not.
    """
    base, _, prefix = text.partition("/")
    if not _ADDRESS.fullmatch(base) or not _PREFIX.fullmatch(prefix):
        return None
    try:
        return ipaddress.ip_network(f"{base}/{prefix}", strict=False)
    except ValueError:
        return None


def ipv4_network(text: str) -> ipaddress.IPv4Network | None:
    """Parse an IPv4 network as :func:`network` does; None for any other text."""
    parsed = network(text)
    return parsed if isinstance(parsed, ipaddress.IPv4Network) else None


def special_part(network_: ipaddress.IPv4Network) -> ipaddress.IPv4Network | None:
    """The first special block (RFC 6890) that a network overlaps with, or None."""
    return next((block for block in _SPECIAL if block.overlaps(network_)), None)


def is_one_machines(ip: Address) -> bool:
    """Whether an address may belong to another machine: not loopback, group, or unspecified."""
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else ip
    if mapped is not None and any(mapped in block for block in _UNUSED):
        return False
    return not (ip.is_loopback or ip.is_multicast or ip.is_unspecified)


def is_name(text: str) -> bool:
    """Whether a text is a host name (RFC 1123, 2.1), which does not end in a number."""
    ends_in_number = text.rpartition(".")[2].isdigit()
    return len(text) <= _LONGEST_NAME and bool(_NAME.fullmatch(text)) and not ends_in_number


def is_label_key(text: str) -> bool:
    """Whether a text is the key of a label or taint of Kubernetes, such as example.com/rack."""
    prefix, slash, name = text.rpartition("/")
    is_domain = len(prefix) <= _LONGEST_NAME and bool(_NAME.fullmatch(prefix))
    return bool(_QUALIFIED.fullmatch(name)) and (
        not slash or (is_domain and prefix == prefix.lower())
    )


def is_label_value(text: str) -> bool:
    return not text or bool(_QUALIFIED.fullmatch(text))


def is_host(text: str) -> bool:
    return is_name(text) or address(text) is not None


def is_repository(text: str) -> bool:
    """Whether a text names a server and perhaps a path (the project distribution, "reference")."""
    server, _, path = text.partition("/")
    host, separator, number = server.partition(":")
    good = is_host(host) and (not separator or port(number) is not None)
    good = good and (server == text or bool(_PATH.fullmatch(path)))
    return good and len(text) <= _LONGEST_REFERENCE


def is_image(text: str) -> bool:
    name, _, digest = text.partition("@")
    path, separator, tag = name.rpartition(":")
    has_tag = bool(separator) and "/" not in tag
    path = path if has_tag else name
    good = not has_tag or bool(_TAG.fullmatch(tag))
    good = good and ("@" not in text or bool(_DIGEST.fullmatch(digest)))
    return good and len(text) <= _LONGEST_REFERENCE and (
        bool(_PATH.fullmatch(path)) or is_repository(path)
    )


def port(text: str) -> int | None:
    """Parse a TCP port; None for any other text."""
    number = int(text) if _PORT.fullmatch(text) else 0
    return number if 0 < number <= _LAST_PORT else None


def url(text: str) -> SplitResult | None:
    """Split an http or https URL; None for any other text."""
    try:
        parts = urlsplit(text) if _URL.fullmatch(text) else None
    except ValueError:
        return None
    if parts is None or parts.scheme not in ("http", "https"):
        return None
    match = _AUTHORITY.fullmatch(parts.netloc.rpartition("@")[2])
    if match is None or (match["port"] and port(match["port"]) is None):
        return None
    return parts if _is_ipv6(match["v6"]) or (match["host"] and is_host(match["host"])) else None


def has_wrong_port(text: str) -> bool:
    """Whether a text would be an http or https URL without its port."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    rest, colon, _ = parts.netloc.rpartition(":")
    return bool(colon) and not url(text) and url(parts._replace(netloc=rest).geturl()) is not None


def is_direct(text: str) -> bool:
    """Whether a text is valid in a no_proxy list (Go's package httpproxy, "Config").

    Valid are a network, an address, a host or domain, optionally with a port, and ``*`` for all.
    """
    parsed = network(text)
    if parsed:
        return parsed.prefixlen >= _SHORTEST_PREFIX[parsed.version]
    if text == "*" or address(text):
        return True
    name, separator, number = text.rpartition(":")
    if separator and port(number) is None:
        return False
    host = name if separator else text
    if host.startswith("["):
        return host.endswith("]") and _is_ipv6(host[1:-1])
    # As in is_name: a domain does not end in a number.
    is_domain = bool(_DIRECT.fullmatch(host)) and not host.rpartition(".")[2].isdigit()
    return (is_domain and len(host) <= _LONGEST_NAME) or address(host) is not None


def _is_ipv6(text: str | None) -> bool:
    return isinstance(address(text or ""), ipaddress.IPv6Address)
