"""What stands in a VNF package besides the files that parameters name."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

# Resources that carry an address a parameter may name.
_ADDRESSES = ("OS::Neutron::Port", "OS::Neutron::FloatingIP")
_VOLUMES = ("OS::Cinder::Volume",)
_SERVER_GROUPS = ("OS::Nova::ServerGroup",)


def address_names(package: Path, flavour: str) -> frozenset[str]:
    """Names of the ports and floating IPs in the flavour's BaseHOT, nested ones included."""
    return _names((package / "BaseHOT" / flavour).rglob("*.yaml"), _ADDRESSES)


def volume_names(package: Path, flavour: str) -> frozenset[str]:
    """Names of the Cinder volumes in the flavour's BaseHOT, nested ones included."""
    return _names((package / "BaseHOT" / flavour).rglob("*.yaml"), _VOLUMES)


def has_server_group(package: Path, flavour: str) -> bool:
    """Whether the flavour's BaseHOT says how servers are spread over compute hosts."""
    return bool(_names((package / "BaseHOT" / flavour).glob("*.yaml"), _SERVER_GROUPS))


def _names(templates: Iterable[Path], types: Collection[str]) -> frozenset[str]:
    return frozenset(
        name
        for path in templates
        for name, resource in _resources(path)
        if resource.get("type") in types
    )


def _resources(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    template = yaml.safe_load(path.read_text())
    resources = template.get("resources") if isinstance(template, dict) else None
    yield from (item for item in (resources or {}).items() if isinstance(item[1], dict))
