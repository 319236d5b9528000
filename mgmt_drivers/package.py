"""What stands in a VNF package besides the files that parameters name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

# Resources that carry an address a parameter may name.
_ADDRESSES = ("OS::Neutron::Port", "OS::Neutron::FloatingIP")


def address_names(package: Path, flavour: str) -> frozenset[str]:
    """Names of the ports and floating IPs in the flavour's BaseHOT, nested ones included."""
    templates = (package / "BaseHOT" / flavour).rglob("*.yaml")
    return frozenset(
        name
        for path in templates
        for name, resource in _resources(path)
        if resource.get("type") in _ADDRESSES
    )


def _resources(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    template = yaml.safe_load(path.read_text())
    resources = template.get("resources") if isinstance(template, dict) else None
    yield from (item for item in (resources or {}).items() if isinstance(item[1], dict))
