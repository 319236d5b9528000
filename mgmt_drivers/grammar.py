"""Words that come from outside: addresses, names, networks and URLs, in ASCII alone.

Readers of parameters, and of what machines report, ask here what such a word is. A library's
parser takes more than files and commands can bear: :mod:`ipaddress` any characters as the scope
of an IPv6 address (RFC 4007), ``\\d`` and ``isalnum`` the digits and letters of all scripts.
"""

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Characters special to a shell between double quotes, and no more: systemd leaves a backslash
# before any other character where it is (systemd.exec, "EnvironmentFile").
IN_QUOTES = str.maketrans({character: f"\\{character}" for character in '"\\`$'})
# Shortest prefixes of a network that is reached directly: the largest are private (RFC 1918, 4193).
_SHORTEST_PREFIX = {4: 8, 6: 7}
# The blocks of this network, loopback, link-local (where clouds have their metadata), multicast,
# and reserved addresses.
_SPECIAL = tuple(map(ipaddress.IPv4Network, (
    "0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
)))
# Special blocks that no machine uses. Link-local is not among them: the metadata service has
# such an address.
_NOBODYS = tuple(block for block in _SPECIAL if not block.is_link_local)
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_LONGEST_NAME = 253
_ADDRESS = re.compile(r"[0-9A-Fa-f:.]{2,45}")
_COMPONENT = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_PATH = re.compile(rf"{_COMPONENT}(?:/{_COMPONENT})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LONGEST_REFERENCE = 512
_PREFIX = re.compile(r"[0-9]{1,3}")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_LAST_PORT = 65535
# All that RFC 3986 knows but the apostrophe; the rest is percent-encoded.
_URL = re.compile(r"(?:[A-Za-z0-9._~:/?#\[\]@!$&()*+,;=-]|%[0-9A-Fa-f]{2})+")
# Text behind the last @ of a URL's authority, and the port behind it.
_AUTHORITY = re.compile(r"(?:\[(?P<v6>[^\[\]]*)\]|(?P<host>[^:\[\]]*))(?::(?P<port>[0-9]*))?")
# Windows' names, which stand in lists of hosts to be reached directly, have underscores.
_WORD = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_DIRECT = re.compile(rf"(?:\*?\.)?{_WORD}(?:\.{_WORD})*")


def address(text: str) -> Address | None:
    """The IPv4 or IPv6 address that a text is, without a scope; None where it is none."""
    try:
        return ipaddress.ip_address(text) if _ADDRESS.fullmatch(text) else None
    except ValueError:
        return None


def network(text: str) -> Network | None:
    """The network that ADDRESS/PREFIX is, its host bits dropped; None for anything else.

    The prefix is a number of bits: a netmask, which :mod:`ipaddress` would take, is unknown to
    the programs that get the notation as it was given.
    """
    base, _, prefix = text.partition("/")
    if not _ADDRESS.fullmatch(base) or not _PREFIX.fullmatch(prefix):
        return None
    try:
        return ipaddress.ip_network(f"{base}/{prefix}", strict=False)
    except ValueError:
        return None


def ipv4_network(text: str) -> ipaddress.IPv4Network | None:
    """As :func:`network`, of IPv4."""
    found = network(text)
    return found if isinstance(found, ipaddress.IPv4Network) else None


def special_part(found: ipaddress.IPv4Network) -> ipaddress.IPv4Network | None:
    """The block that a network overlaps with and no machine's addresses are of (RFC 6890).

    Whoever names the whole internet is told of the first of them.
    """
    return next((block for block in _SPECIAL if block.overlaps(found)), None)


def is_one_machines(found: Address) -> bool:
    """Whether an address may be that of another machine: no loopback, group, or unspecified one."""
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else found
    if mapped is not None and any(mapped in block for block in _NOBODYS):
        return False
    return not (found.is_loopback or found.is_multicast or found.is_unspecified)


def is_name(text: str) -> bool:
    """Whether a text is a host name (RFC 1123, 2.1); one that ends in a number is an address."""
    ends_in_number = text.rpartition(".")[2].isdigit()
    return len(text) <= _LONGEST_NAME and bool(_NAME.fullmatch(text)) and not ends_in_number


def is_host(text: str) -> bool:
    """Whether a text is a host name or an address."""
    return is_name(text) or address(text) is not None


def is_repository(text: str) -> bool:
    """Whether a text is a server, and perhaps a path on it, where images lie.

    As in references of images (the project distribution, "reference"), without tag and digest.
    """
    server, _, path = text.partition("/")
    host, separator, number = server.partition(":")
    good = is_host(host) and (not separator or port(number) is not None)
    good = good and (server == text or bool(_PATH.fullmatch(path)))
    return good and len(text) <= _LONGEST_REFERENCE


def is_image(text: str) -> bool:
    """Whether a text is a reference of an image: a repository with a tag, a digest, or neither."""
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
    """The TCP port that digits are; None for anything else."""
    number = int(text) if _PORT.fullmatch(text) else 0
    return number if 0 < number <= _LAST_PORT else None


def url(text: str) -> SplitResult | None:
    """The parts of an http or https URL; None for anything else."""
    try:
        parts = urlsplit(text) if _URL.fullmatch(text) else None
    except ValueError:
        return None
    if parts is None or parts.scheme not in ("http", "https"):
        return None
    found = _AUTHORITY.fullmatch(parts.netloc.rpartition("@")[2])
    if found is None or (found["port"] and port(found["port"]) is None):
        return None
    return parts if _is_ipv6(found["v6"]) or (found["host"] and is_host(found["host"])) else None


def is_direct(text: str) -> bool:
    """Whether a text can stand in a no_proxy list (Go's package httpproxy, "Config").

    That is a network, an address, or a host or domain, perhaps with a port; or ``*`` for all.
    """
    found = network(text)
    if found:
        return found.prefixlen >= _SHORTEST_PREFIX[found.version]
    if text == "*" or address(text):
        return True
    name, separator, number = text.rpartition(":")
    if separator and port(number) is None:
        return False
    host = name if separator else text
    if host.startswith("["):
        return host.endswith("]") and _is_ipv6(host[1:-1])
    # As in is_name: what ends in a number is an address.
    is_domain = bool(_DIRECT.fullmatch(host)) and not host.rpartition(".")[2].isdigit()
    return (is_domain and len(host) <= _LONGEST_NAME) or address(host) is not None


def _is_ipv6(text: str | None) -> bool:
    return isinstance(address(text or ""), ipaddress.IPv6Address)
