"""The VNF package: its BaseHOTs, and the archives in it."""

import functools
import hashlib
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mgmt_drivers import package_yaml

_FLOATING_IP = "OS::Neutron::FloatingIP"

# Raised by tarfile and the decompressors for a broken archive.
BROKEN_ARCHIVE = (
    tarfile.TarError, EOFError, KeyError, OSError, RecursionError, TypeError, ValueError,
    lzma.LZMAError, zlib.error,
)  # fmt: skip
# Members that are a name or other attributes of the member behind them.
_ATTRIBUTES = (
    tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)  # fmt: skip
_LARGEST_ATTRIBUTES = 1 << 20  # bytes


class ArchiveMember(tarfile.TarInfo):
    """A member for ``tarfile.open``'s ``tarinfo``; its attributes, read at once, have a limit."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "ArchiveMember":
        member = super().frombuf(buf, encoding, errors)
        if member.type in _ATTRIBUTES and member.size > _LARGEST_ATTRIBUTES:
            raise tarfile.ReadError(f"attributes of more than {_LARGEST_ATTRIBUTES} bytes")
        return member


def has_base_hot(package: Path, flavour: str) -> bool:
    """Whether the package has a BaseHOT; otherwise Tacker makes the flavour's template itself."""
    return (package / "BaseHOT" / flavour).is_dir()


def address_names(package: Path, flavour: str) -> frozenset[str]:
    listed = _resources(package, flavour, "OS::Neutron::Port", _FLOATING_IP)
    return frozenset(name for name, _ in listed)


def floating_ips(package: Path, flavour: str) -> dict[str, str]:
    """The floating IPs in the flavour's BaseHOT, each with its port's name; empty without one."""
    ports = {}
    for name, properties in _resources(package, flavour, _FLOATING_IP):
        port = properties.get("port_id")
        ports[name] = str(port.get("get_resource")) if isinstance(port, dict) else ""
    return ports


def volume_names(package: Path, flavour: str) -> frozenset[str]:
    return frozenset(name for name, _ in _resources(package, flavour, "OS::Cinder::Volume"))


def grouped_vdus(package: Path, flavour: str) -> frozenset[str]:
    """VDUs whose servers are in a server group, which spreads them over compute hosts."""
    servers = _resources(package, flavour, "OS::Nova::Server")
    return frozenset(n for n, server in servers if "group" in (server.get("scheduler_hints") or {}))


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, which may be larger than the memory."""
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            sha.update(piece)
    return sha.hexdigest()


@functools.lru_cache(maxsize=16)
def _read(path: Path, changed: int, size: int) -> Any:
    """Parse a template, which one operation needs several times."""
    return package_yaml.read(path)


def _resources(package: Path, flavour: str, *types: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and properties of resources in the flavour's BaseHOT, nested templates included."""
    for path in (package / "BaseHOT" / flavour).rglob("*.yaml"):
        status = path.stat()
        template = _read(path, status.st_mtime_ns, status.st_size) or {}
        for name, resource in (template.get("resources") or {}).items():
            if resource.get("type") in types:
                yield name, resource.get("properties") or {}
