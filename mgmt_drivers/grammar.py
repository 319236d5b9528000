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

# This network, loopback, link-local (where clouds have their metadata), multicast and reserved.
_SPECIAL = tuple(map(ipaddress.IPv4Network, (
    "0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4",
)))
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
_PORT = re.compile(r"[0-9]{1,5}")
_LAST_PORT = 65535
# All that RFC 3986 knows but the apostrophe; the rest is percent-encoded.
_URL = re.compile(r"[A-Za-z0-9._~:/?#\[\]@!$&()*+,;=%-]+")
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
        if parts is None or parts.scheme not in ("http", "https") or parts.port == 0:
            return None
    except ValueError:
        return None
    return parts if is_host(parts.hostname or "") else None


def is_direct(text: str) -> bool:
    """Whether a text can stand in a no_proxy list (Go's package httpproxy, "Config").

    That is a network, an address, or a host or domain, perhaps with a port; or ``*`` for all.
    """
    found = network(text)
    if text == "*" or address(text) or (found and found.prefixlen):
        return True
    name, separator, number = text.rpartition(":")
    if separator and port(number) is None:
        return False
    host = name if separator else text
    is_domain = len(host) <= _LONGEST_NAME and bool(_DIRECT.fullmatch(host))
    return is_domain or (bool(separator) and address(host.strip("[]")) is not None)
