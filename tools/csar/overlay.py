"""Lays a variant's additions over a package: what the package has, and more.

An overlay is a folder with the package's own tree. A YAML file that the package
has is merged into it, any other file is added.
"""

from pathlib import Path
from typing import Any

import yaml

from tools.csar import contents
from tools.csar.contents import Contents, InMemory, Source
from tools.csar.errors import CsarError

_YAML = (".yaml", ".yml")


def lay(base: Contents, overlay: Path) -> Contents:
    """Return the package's files with those of the overlay.

    :raises CsarError: a file that is there already is no YAML, or does not fit
    """
    result = dict(base)
    for name, source in contents.of_folder(overlay).items():
        result[name] = _merged(name, base[name], source) if name in base else source
    return result


def _merged(name: str, base: Source, addition: Source) -> InMemory:
    if not name.endswith(_YAML):
        raise CsarError(f"{addition}: the package has {name} already, and only YAML can be merged")
    both = merge(yaml.safe_load(base.read_bytes()), yaml.safe_load(addition.read_bytes()))
    return InMemory(name, yaml.safe_dump(both, sort_keys=False, allow_unicode=True).encode())


def merge(base: Any, addition: Any) -> Any:
    """Mappings are merged by key, lists joined; of anything else the addition counts."""
    if isinstance(base, dict) and isinstance(addition, dict):
        merged = {key: merge(base[key], value) for key, value in addition.items() if key in base}
        return {**base, **addition, **merged}
    if isinstance(base, list) and isinstance(addition, list):
        return base + addition
    return addition
